import type { StringFormat } from '#common/json-schema';

/* Formats of JSON Schema as patterns over whole strings. Each matches a subset of its specification that validators agree on. */

const leapYear = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const date = `(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|${leapYear}-02-29)`;
const time = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])';

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
/** At most 4 labels of 63 characters keep the limit of 253. */
const hostname = `${label}(?:\\.${label}){0,2}(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,58}[A-Za-z0-9])?)?`;

const local = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,15}";
/** At most 4 parts keep the limit of 64. */
const email = `${local}(?:\\.${local}){0,3}@${label}(?:\\.${label}){0,2}`;

const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const ipv4 = `${octet}(?:\\.${octet}){3}`;

const group = '[0-9A-Fa-f]{1,4}';
/** Groups with a colon behind them; a second one makes the gap. */
function groupsBefore(count: number): string {
  return count === 0 ? ':' : `${group}(?::${group}){${count - 1}}:`;
}

const ipv6 = [
  `(?:${group}:){7}${group}`,
  `(?:${group}:){6}${ipv4}`,
  ...Array.from({ length: 6 }, (_, before) => `${groupsBefore(before)}:(?:${group}:){0,${5 - before}}${ipv4}`),
  ...Array.from({ length: 8 }, (_, before) => {
    const head = groupsBefore(before);
    return before === 7 ? `${head}:` : `${head}(?::${group}){1,${7 - before}}|${head}:`;
  }),
].join('|');

const escaped = '%[0-9A-Fa-f]{2}';
const segment = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|${escaped})`;
const userInfo = `(?:[A-Za-z0-9._~!$&'()*+,;=:-]|${escaped})*@`;
const authority = `(?:${userInfo})?(?:${hostname}|${ipv4}|\\[(?:${ipv6})\\])(?::[0-9]{1,5})?`;
const query = `(?:\\?(?:${segment}|[/?])*)?(?:#(?:${segment}|[/?])*)?`;
const uri = `[A-Za-z][A-Za-z0-9+.-]*:(?://${authority}(?:/${segment}*)*|${segment}+(?:/${segment}*)*|/(?:${segment}+(?:/${segment}*)*)?)${query}`;

const uuid = '[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}';

const whole = (pattern: string): string => `^(?:${pattern})$`;

/** Pattern of each format that is kept. */
export const formatPatterns: Readonly<Record<StringFormat, string>> = {
  'date-time': whole(`${date}[Tt]${time}`),
  date: whole(date),
  time: whole(time),
  email: whole(email),
  hostname: whole(hostname),
  uri: whole(uri),
  uuid: whole(uuid),
  ipv4: whole(ipv4),
  ipv6: whole(ipv6),
};

/** The pattern of a format; null for an annotation. */
export function formatPattern(format: string): string | null {
  return Object.hasOwn(formatPatterns, format) ? formatPatterns[format as StringFormat] : null;
}
