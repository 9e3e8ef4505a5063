import type { TextPart } from '../contract/output-region.js';
import type { ToolDefinition } from '../contract/tool-use.js';
import type { CallText, Reading } from './call-text.js';
import { argumentsOf, type CallEntry, callList, choice, literal, readJsonCall, sequence, space } from './tool-style.js';

/*
 * Calls as JSON with nothing around it, as the whole response or in a fenced block. Some models write them so although
 * their template asks for tags. Free text becomes a call only where the JSON names a tool of the request and has the
 * key of its arguments, in one of a few spellings: any other JSON is content.
 */

const fence = '```';
const jsonFence = `${fence}json\n`;
const fences = [jsonFence, `${fence}\n`];

/** What leads from free text to the arguments of one tool. */
export interface BareEntry extends CallEntry {
  name: string;
  isFenced: boolean;
}

/** The beginning of a call up to the key of its arguments, as models space it. The first one is the usual one. */
function spellings(name: string, key: string): [usual: string, ...others: string[]] {
  const indented = ['  ', '    '].map((indentation) => {
    const line = `\n${indentation}`;
    return `{${line}"name": "${name}",${line}"${key}"`;
  });
  return [`{"name": "${name}", "${key}"`, `{"name":"${name}","${key}"`, `{ "name": "${name}", "${key}"`, ...indented];
}

/** The entries to `bareCalls` of these tools. */
export function bareEntries(tools: readonly ToolDefinition[], key: string): BareEntry[] {
  return tools.flatMap(({ name }) => {
    const [preferred, ...others] = spellings(name, key);
    return [preferred, ...others].flatMap((text): BareEntry[] => [
      { text, atStart: true, entered: preferred, name, isFenced: false },
      ...fences.map((begin) => ({ text: begin + text, entered: jsonFence + preferred, name, isFenced: true })),
    ]);
  });
}

/** The texts of bare calls, from their beginning. Further calls follow on lines of their own. */
export function bareCalls(tools: readonly ToolDefinition[], key: string, isParallel: boolean): TextPart {
  const one = (tool: ToolDefinition) => {
    const [preferred] = spellings(tool.name, key);
    return sequence(literal(`${preferred}:`), space, argumentsOf(tool), space, literal('}'));
  };
  const calls = callList(choice(tools.map(one)), literal('\n'), isParallel);
  return choice([calls, sequence(literal(jsonFence), calls, literal(`\n${fence}`))]);
}

/** Reads bare calls behind the entry to the first one. */
export function* readBareCalls(text: CallText, { name, isFenced }: BareEntry, key: string): Reading {
  text.begin(name);
  if (!(yield* text.skip(':')) || !(yield* text.value()) || !(yield* text.skip('}'))) return;
  while (yield* text.skip('{')) if (!(yield* readJsonCall(text, key))) return;
  if (isFenced) yield* text.skip(fence);
}
