// Probabilities as bars from 0 to 1, from red to green in the order of the labels.

// Five steps of ColorBrewer's RdYlGn; other numbers of labels lie between them.
const STEPS = ["#d73027", "#fc8d59", "#fee08b", "#d9ef8b", "#1a9850"];

/** Returns the colour of a label by its place among so many. */
export function shade(place, count) {
  const at = count < 2 ? STEPS.length - 1 : (place / (count - 1)) * (STEPS.length - 1);
  const low = Math.floor(at);
  if (low === at) return STEPS[low];
  const mixed = [1, 3, 5].map((start) => {
    const [a, b] = [STEPS[low], STEPS[low + 1]].map((step) => parseInt(step.slice(start, start + 2), 16));
    return Math.round(a + (b - a) * (at - low)).toString(16).padStart(2, "0");
  });
  return `#${mixed.join("")}`;
}

/** The bars of one run. */
export class Bars {
  /** @param labels names in their order. */
  constructor(labels) {
    this.element = document.createElement("ul");
    this.element.className = "bars";
    this.element.setAttribute("aria-label", "Probabilities");
    this.rows = labels.map((label, place) => {
      const row = document.createElement("li");
      const [name, bar, fill, value] = Array.from({ length: 4 }, () => document.createElement("span"));
      name.className = "label";
      name.textContent = label;
      name.title = label;
      bar.className = "bar";
      bar.setAttribute("role", "meter");
      bar.setAttribute("aria-label", label);
      bar.setAttribute("aria-valuemin", "0");
      bar.setAttribute("aria-valuemax", "1");
      fill.className = "fill";
      fill.style.setProperty("--shade", shade(place, labels.length));
      value.className = "value";
      value.setAttribute("aria-hidden", "true");
      bar.append(fill);
      row.append(name, bar, value);
      this.element.append(row);
      return { name, bar, value };
    });
    this.show(null);
  }

  /** Draws probabilities in the order of the labels; null for no text. */
  show(probs) {
    const best = probs ? probs.indexOf(Math.max(...probs)) : -1;
    this.rows.forEach(({ name, bar, value }, place) => {
      const p = probs ? probs[place] : 0;
      name.classList.toggle("best", place === best);
      bar.setAttribute("aria-valuenow", p.toFixed(3));
      bar.style.setProperty("--p", p);
      value.textContent = p.toFixed(3);
    });
  }
}
