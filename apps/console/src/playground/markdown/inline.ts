/* Text within a block: emphasis, code, links. Pure; `build-nodes.ts` turns it into nodes of a page. */

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'break' }
  | { type: 'strong' | 'emphasis' | 'strike'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[] };

/** Deeper marks stay text: no answer needs them, and a hostile one may have thousands. */
const maxDepth = 6;

const marks: readonly { mark: string; type: 'strong' | 'emphasis' | 'strike' }[] = [
  { mark: '**', type: 'strong' },
  { mark: '__', type: 'strong' },
  { mark: '~~', type: 'strike' },
  { mark: '*', type: 'emphasis' },
  { mark: '_', type: 'emphasis' },
];

interface Match {
  node: Inline;
  /** The index behind the match. */
  end: number;
}

export function parseInline(text: string, depth = 0): Inline[] {
  const nodes: Inline[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') nodes.push({ type: 'text', text: plain });
    plain = '';
  };
  let index = 0;
  while (index < text.length) {
    const match = depth < maxDepth ? matchAt(text, index, depth) : null;
    if (match === null) {
      plain += text.charAt(index);
      index += 1;
    } else if (match.node.type === 'text') {
      plain += match.node.text;
      index = match.end;
    } else {
      flush();
      nodes.push(match.node);
      index = match.end;
    }
  }
  flush();
  return nodes;
}

function matchAt(text: string, index: number, depth: number): Match | null {
  switch (text.charAt(index)) {
    case '\\':
      return matchEscape(text, index);
    case '`':
      return matchCode(text, index);
    case '\n':
      return { node: { type: 'break' }, end: index + 1 };
    case '!':
      return text.charAt(index + 1) === '[' ? matchImage(text, index) : null;
    case '[':
      return matchLink(text, index, depth);
    case 'h':
      return matchBareAddress(text, index);
    case '*':
    case '_':
    case '~':
      return matchMark(text, index, depth);
    default:
      return null;
  }
}

function matchEscape(text: string, index: number): Match | null {
  const next = text.charAt(index + 1);
  return /^[!-/:-@[-`{-~]$/.test(next) ? { node: { type: 'text', text: next }, end: index + 2 } : null;
}

/** Code ends at a run of as many backticks as it begins with. */
function matchCode(text: string, index: number): Match | null {
  const length = runLength(text, index, '`');
  const start = index + length;
  for (let at = text.indexOf('`', start); at >= 0;) {
    const run = runLength(text, at, '`');
    if (run === length) return { node: { type: 'code', text: trimOne(text.slice(start, at)) }, end: at + run };
    at = text.indexOf('`', at + run);
  }
  // The whole run is text; otherwise its second backtick would be tried again.
  return { node: { type: 'text', text: text.slice(index, start) }, end: start };
}

function matchMark(text: string, index: number, depth: number): Match | null {
  const found = marks.find(({ mark }) => text.startsWith(mark, index));
  if (found === undefined) return null;
  const { mark, type } = found;
  const start = index + mark.length;
  // Underscores within a word, as in names of variables, are no emphasis.
  if (mark.startsWith('_') && isWord(text.charAt(index - 1))) return null;
  if (isSpace(text.charAt(start))) return null;
  const end = closingMark(text, start, mark);
  if (end === null) return null;
  return { node: { type, children: parseInline(text.slice(start, end), depth + 1) }, end: end + mark.length };
}

function closingMark(text: string, start: number, mark: string): number | null {
  for (let at = text.indexOf(mark, start + 1); at >= 0; at = text.indexOf(mark, at + 1)) {
    const before = text.charAt(at - 1);
    const behind = text.charAt(at + mark.length);
    if (isSpace(before) || before === '\\') continue;
    // A single star must not end at one of the two of `**`.
    if (mark.length === 1 && (behind === mark || before === mark)) continue;
    if (mark.startsWith('_') && isWord(behind)) continue;
    return at;
  }
  return null;
}

function matchLink(text: string, index: number, depth: number): Match | null {
  const parts = linkParts(text, index);
  if (parts === null) return null;
  const children = parseInline(parts.label, depth + 1);
  const href = safeAddress(parts.address);
  // An address that a page must not open leaves only its label.
  const node: Inline = href === null ? { type: 'text', text: parts.label } : { type: 'link', href, children };
  return { node, end: parts.end };
}

/** Images of an answer are not loaded, because their address can carry text of the chat to any host. */
function matchImage(text: string, index: number): Match | null {
  const parts = linkParts(text, index + 1);
  if (parts === null) return null;
  const label = parts.label === '' ? 'image' : parts.label;
  const href = safeAddress(parts.address);
  const node: Inline =
    href === null ? { type: 'text', text: label } : { type: 'link', href, children: [{ type: 'text', text: label }] };
  return { node, end: parts.end };
}

function linkParts(text: string, index: number): { label: string; address: string; end: number } | null {
  const labelEnd = text.indexOf('](', index);
  if (labelEnd < 0 || text.slice(index, labelEnd).includes('\n\n')) return null;
  const addressEnd = text.indexOf(')', labelEnd);
  if (addressEnd < 0) return null;
  const [address = ''] = text
    .slice(labelEnd + 2, addressEnd)
    .trim()
    .split(/\s/);
  return { label: text.slice(index + 1, labelEnd), address, end: addressEnd + 1 };
}

function matchBareAddress(text: string, index: number): Match | null {
  if (isWord(text.charAt(index - 1))) return null;
  if (!text.startsWith('http://', index) && !text.startsWith('https://', index)) return null;
  let end = index;
  while (end < text.length && !/[\s<>"]/.test(text.charAt(end))) end += 1;
  // A full stop or a bracket behind an address belongs to the sentence.
  while (end > index && /[.,;:!?)\]'*_]/.test(text.charAt(end - 1))) end -= 1;
  const address = text.slice(index, end);
  const href = safeAddress(address);
  return href === null ? null : { node: { type: 'link', href, children: [{ type: 'text', text: address }] }, end };
}

/** Returns the address if a page may open it, so neither scripts nor data. */
export function safeAddress(address: string): string | null {
  try {
    const { protocol, href } = new URL(address);
    return ['http:', 'https:', 'mailto:'].includes(protocol) ? href : null;
  } catch {
    return null;
  }
}

function runLength(text: string, index: number, character: string): number {
  let end = index;
  while (text.charAt(end) === character) end += 1;
  return end - index;
}

function trimOne(text: string): string {
  const isPadded = text.length > 2 && text.startsWith(' ') && text.endsWith(' ');
  return isPadded ? text.slice(1, -1) : text;
}

function isWord(character: string): boolean {
  return /^[\p{L}\p{N}]$/u.test(character);
}

function isSpace(character: string): boolean {
  return character === '' || /^\s$/.test(character);
}
