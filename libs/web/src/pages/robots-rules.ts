interface Rule {
  path: string;
  isAllowed: boolean;
}

const maxRules = 2_000;
const maxLineLength = 2_048;
/** Memory of a rule besides its characters, roughly. */
const ruleBytes = 64;

/** Rules of a robots.txt for one agent (RFC 9309). */
export class RobotsRules {
  private constructor(private readonly rules: readonly Rule[]) {}

  /** Takes the group that names the agent, otherwise the one for all agents. */
  static parse(text: string, agent: string): RobotsRules {
    const groups = new Map<string, Rule[]>();
    let current: Rule[][] = [];
    let isNaming = false;
    for (const line of text.split(/\r\n|\r|\n/).slice(0, maxRules * 2)) {
      const [name, value] = memberIn(line.slice(0, maxLineLength));
      if (name === 'user-agent') {
        if (!isNaming) current = [];
        const group = groups.get(value.toLowerCase()) ?? [];
        groups.set(value.toLowerCase(), group);
        current.push(group);
        isNaming = true;
      } else if (name === 'allow' || name === 'disallow') {
        isNaming = false;
        if (value !== '') for (const group of current) group.push({ path: value, isAllowed: name === 'allow' });
      }
    }
    const rules = (groups.get(agent) ?? groups.get('*') ?? []).slice(0, maxRules);
    // A part of a text keeps the whole text in memory; a copy does not.
    return new RobotsRules(rules.map(({ path, isAllowed }) => ({ path: Buffer.from(path).toString(), isAllowed })));
  }

  /** Memory of the rules, roughly. */
  get bytes(): number {
    return this.rules.reduce((sum, { path }) => sum + 2 * path.length + ruleBytes, 0);
  }

  /** The longest matching rule decides; of two equal ones, the permission. */
  allows(url: string): boolean {
    const { pathname, search } = new URL(url);
    let best: Rule = { path: '', isAllowed: true };
    for (const rule of this.rules) {
      const isBetter = rule.path.length > best.path.length || (rule.path.length === best.path.length && rule.isAllowed);
      if (isBetter && matches(rule.path, pathname + search)) best = rule;
    }
    return best.isAllowed;
  }
}

/** The name of a line in lower case, and its value without a comment. */
function memberIn(line: string): [name: string, value: string] {
  const [written = ''] = line.split('#', 1);
  const colon = written.indexOf(':');
  return colon < 0 ? ['', ''] : [written.slice(0, colon).trim().toLowerCase(), written.slice(colon + 1).trim()];
}

/** `*` stands for anything, a final `$` for the end. Compares part by part, without backtracking. */
function matches(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith('$');
  const [first = '', ...parts] = (isWhole ? pattern.slice(0, -1) : pattern).split('*');
  if (!path.startsWith(first)) return false;
  let position = first.length;
  const last = parts.pop();
  for (const part of parts) {
    const found = path.indexOf(part, position);
    if (found < 0) return false;
    position = found + part.length;
  }
  if (last === undefined) return !isWhole || position === path.length;
  if (isWhole) return path.length - last.length >= position && path.endsWith(last);
  return path.indexOf(last, position) >= 0;
}
