//! `Trie`: longest match first in time linear in the word.
//!
//! A trie of the tokens that may start a word and one of the tokens that may continue
//! with it, the prefix left out. Where no child fits, a node's link leads to the
//! longest rest that is still a node, and its pops are the tokens matched on
//! the way: Song et al. 2021, "Fast WordPiece Tokenization" (LinMaxMatch,
//! arXiv 2012.15524).
//!
//! Every byte of a word is consumed once and every link shortens the rest
//! to match, so at most two steps are done a byte. Pops are chains that share
//! their beginnings; a chain grows by at most one cell a byte of a token, so
//! building takes time and space linear in the bytes of the vocabulary.
//! Nodes are numbered breadth first, so that children are neighbours, links and pops are plain arrays, and a
//! parent's link is known before its child's. `text::trie` is not used: it numbers nodes by where their bytes
//! fit and cannot list children, from which links are made.

use std::collections::VecDeque;

use crate::vocab::{TokenId, Vocab};

const NONE: u32 = u32::MAX;
/// The most children that are compared at once.
const FEW: usize = 8;
const HIGH: u64 = u64::from_ne_bytes([0x80; FEW]);

/// A token of a chain of pops, with the one before it.
struct Pop {
    token: TokenId,
    before: u32,
}

/// Both tries, in one numbering.
pub(super) struct Trie {
    /// The byte that leads to each node; meaningless for roots.
    labels: Vec<u8>,
    /// The first child of each node; one more than there are nodes.
    first_child: Vec<u32>,
    /// Where to continue when no child fits; `NONE` where nothing matches.
    links: Vec<u32>,
    /// The last of the tokens that are matched by taking the link.
    last_pop: Vec<u32>,
    pops: Vec<Pop>,
    /// The children of the roots, which have too many to search.
    heads: Box<[u32; 256]>,
    tails: Box<[u32; 256]>,
    /// The root of what continues a word; the same as that of its start, 0,
    /// where the prefix is empty.
    tail_root: u32,
}

/// A token's bytes that are still to be laid out below a node.
struct Pending {
    /// A range of the sorted tokens.
    from: usize,
    to: usize,
    depth: usize,
}

impl Trie {
    /// Both tries of a vocabulary without those `excluded`. Empty tokens match nowhere.
    pub(super) fn new(vocab: &Vocab, prefix: &[u8], excluded: &[TokenId]) -> Self {
        let sorted = |strip: &[u8]| {
            let mut tokens: Vec<(&[u8], TokenId)> = vocab
                .iter()
                .filter(|(id, _)| excluded.binary_search(id).is_err())
                .filter_map(|(id, bytes)| Some((bytes.strip_prefix(strip)?, id)))
                .filter(|(bytes, _)| !bytes.is_empty())
                .collect();
            tokens.sort_unstable();
            tokens
        };
        let mut tokens = sorted(b"");
        let n_heads = tokens.len();
        let mut trie = Self {
            labels: Vec::new(),
            first_child: Vec::new(),
            links: Vec::new(),
            last_pop: Vec::new(),
            pops: Vec::new(),
            heads: Box::new([NONE; 256]),
            tails: Box::new([NONE; 256]),
            tail_root: u32::from(!prefix.is_empty()),
        };
        // Only as many as nodes of two depths: one token of a megabyte is one.
        let mut pending = VecDeque::from([Pending { from: 0, to: n_heads, depth: 0 }]);
        trie.push_node(0, NONE, NONE);
        if !prefix.is_empty() {
            tokens.extend(sorted(prefix));
            pending.push_back(Pending { from: n_heads, to: tokens.len(), depth: 0 });
            trie.push_node(0, NONE, NONE);
        }
        let mut node = 0;
        while let Some(Pending { mut from, to, depth }) = pending.pop_front() {
            trie.first_child.push(trie.labels.len() as u32);
            // The node's own token sorts before the longer ones.
            if from < to && tokens[from].0.len() == depth {
                from += 1;
            }
            while from < to {
                let byte = tokens[from].0[depth];
                let end = from + tokens[from..to].partition_point(|(bytes, _)| bytes[depth] == byte);
                let token = Some(tokens[from].1).filter(|_| tokens[from].0.len() == depth + 1);
                trie.push_child(node as u32, byte, token);
                pending.push_back(Pending { from, to: end, depth: depth + 1 });
                from = end;
            }
            node += 1;
        }
        trie.first_child.push(trie.labels.len() as u32);
        trie.labels.shrink_to_fit();
        trie.first_child.shrink_to_fit();
        trie.links.shrink_to_fit();
        trie.last_pop.shrink_to_fit();
        trie
    }

    fn push_node(&mut self, label: u8, link: u32, last_pop: u32) {
        self.labels.push(label);
        self.links.push(link);
        self.last_pop.push(last_pop);
    }

    /// Appends a child with its link and pops; all nodes nearer to a root have
    /// their children already.
    fn push_child(&mut self, parent: u32, byte: u8, token: Option<TokenId>) {
        let child = self.labels.len() as u32;
        let (link, last_pop) = match token {
            Some(token) => (self.tail_root, self.push_pop(token, NONE)),
            None => {
                let mut chain = self.last_pop[parent as usize];
                let mut node = self.links[parent as usize];
                let link = loop {
                    if node == NONE {
                        break NONE;
                    }
                    if let Some(next) = self.child(node, byte) {
                        break next;
                    }
                    chain = self.join(chain, self.last_pop[node as usize]);
                    node = self.links[node as usize];
                };
                (link, if link == NONE { NONE } else { chain })
            }
        };
        match parent {
            0 => self.heads[usize::from(byte)] = child,
            root if root == self.tail_root => self.tails[usize::from(byte)] = child,
            _ => {}
        }
        self.push_node(byte, link, last_pop);
    }

    fn push_pop(&mut self, token: TokenId, before: u32) -> u32 {
        self.pops.push(Pop { token, before });
        self.pops.len() as u32 - 1
    }

    /// The chain `first` and behind it copies of the cells of `second`.
    fn join(&mut self, first: u32, second: u32) -> u32 {
        let mut tokens = Vec::new();
        self.for_each_pop(second, |token| tokens.push(token));
        tokens.into_iter().rev().fold(first, |chain, token| self.push_pop(token, chain))
    }

    /// Calls `f` with the tokens of a chain, last first.
    #[inline]
    fn for_each_pop(&self, mut chain: u32, mut f: impl FnMut(TokenId)) {
        while let Some(pop) = self.pops.get(chain as usize) {
            f(pop.token);
            chain = pop.before;
        }
    }

    #[inline]
    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        if node <= self.tail_root {
            let children = if node == 0 { &self.heads } else { &self.tails };
            return Some(children[usize::from(byte)]).filter(|&child| child != NONE);
        }
        let first = self.first_child[node as usize];
        let last = self.first_child[node as usize + 1];
        let few = self.labels.get(first as usize..).and_then(<[u8]>::first_chunk::<FEW>);
        let Some(few) = few.filter(|_| (last - first) as usize <= FEW) else {
            let labels = &self.labels[first as usize..last as usize];
            return memchr::memchr(byte, labels).map(|at| first + at as u32);
        };
        // All at once: the lowest byte that is zero is found, whatever is above it.
        let others = u64::from_le_bytes(*few) ^ u64::from_ne_bytes([byte; FEW]);
        let found = others.wrapping_sub(u64::from_ne_bytes([1; FEW])) & !others & HIGH;
        let child = first + found.trailing_zeros() / 8;
        (child < last).then_some(child)
    }

    /// Appends the tokens of a word that is not empty; `false`, with nothing
    /// appended, if they do not make it up.
    pub(super) fn encode(&self, word: &[u8], ids: &mut Vec<TokenId>) -> bool {
        let from = ids.len();
        let mut node = 0;
        for &byte in word {
            node = loop {
                if let Some(child) = self.child(node, byte) {
                    break child;
                }
                match self.take_link(node, ids) {
                    Some(next) => node = next,
                    None => {
                        ids.truncate(from);
                        return false;
                    }
                }
            };
        }
        // Matched text that is not yet popped must be made of tokens, too.
        while node != self.tail_root {
            match self.take_link(node, ids) {
                Some(next) => node = next,
                None => {
                    ids.truncate(from);
                    return false;
                }
            }
        }
        true
    }

    /// Appends a node's pops and follows its link, if it has one.
    #[inline]
    fn take_link(&self, node: u32, ids: &mut Vec<TokenId>) -> Option<u32> {
        let link = self.links[node as usize];
        if link == NONE {
            return None;
        }
        let from = ids.len();
        self.for_each_pop(self.last_pop[node as usize], |token| ids.push(token));
        ids[from..].reverse();
        Some(link)
    }
}
