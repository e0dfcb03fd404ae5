// Asking the server: no faster than it helps, and only for what is still wanted.

/** Sends a JSON object; returns the answer, or throws what the server said of it. */
export async function ask(path, body, signal) {
  const answer = await fetch(path, request(body, signal));
  if (!answer.ok) throw new Error(await reason(answer));
  return answer.json();
}

/** Sends a JSON object; yields the objects of the lines that come back, as they come. */
export async function* askLines(path, body, signal) {
  const answer = await fetch(path, request(body, signal));
  if (!answer.ok) throw new Error(await reason(answer));
  const decoder = new TextDecoder();
  let rest = "";
  const reader = answer.body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
  }
}

function request(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

async function reason(answer) {
  try {
    return (await answer.json()).error;
  } catch {
    return `the server answers ${answer.status}`;
  }
}

/** Keeps to the newest of several questions: an answer that comes late is dropped. */
export class Latest {
  #number = 0;
  #abort = null;

  /** Runs a task, which gets a signal; returns its answer, or undefined if a newer one began. */
  async run(task) {
    this.cancel();
    const number = this.#number;
    this.#abort = new AbortController();
    try {
      const answer = await task(this.#abort.signal);
      return number === this.#number ? answer : undefined;
    } catch (error) {
      if (number === this.#number) throw error;
      return undefined;
    }
  }

  /** Drops the answer that is under way. */
  cancel() {
    this.#number += 1;
    this.#abort?.abort();
  }
}

/**
 * Limits calls to one in so many milliseconds: the first at once, so that a slow typist does not
 * wait, and of those that follow too soon the last one, when the time is over.
 */
export function paced(call, milliseconds, clock = () => performance.now(), later = setTimeout) {
  let last = -Infinity;
  let waiting = false;
  return () => {
    if (waiting) return;
    const wait = last + milliseconds - clock();
    if (wait <= 0) {
      last = clock();
      call();
      return;
    }
    waiting = true;
    later(() => {
      waiting = false;
      last = clock();
      call();
    }, wait);
  };
}

/** Calls once nobody has called for so many milliseconds. */
export function settled(call, milliseconds) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}
