// Stage 0: renders openly licensed icon sets to 128 x 128 RGB on white and collects names and keywords.
// Usage: node prepare.mjs OUT_FOLDER [--limit N]   (after `npm ci` in this folder)
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import sharp from 'sharp';

const require = createRequire(import.meta.url);
const { values, positionals } = parseArgs({ options: { limit: { type: 'string' } }, allowPositionals: true });
const [out] = positionals;
if (out === undefined) {
  console.error('Usage: node prepare.mjs OUT_FOLDER [--limit N]');
  process.exit(2);
}
const side = 128;
const limit = Number(values.limit ?? Infinity);
/** By the word of the style in captions. */
const sets = { noto: 'noto', flat: 'fluent-emoji-flat' };
const licenses = ['MIT', 'Apache-2.0'];
/** Signs and variants, which are no drawings of a thing. */
const sign =
  /keycap|button$|^japanese|input |squared|trade mark|registered|copyright|arrow$|facing right|skin tone|^family|letter$/;
const drawnSign = /bow and arrow|heart with arrow|love letter/;
const symbol =
  /^(aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces|ophiuchus|information|on!|soon|back|end|top|up!|new|free|cool|ok|abc|circled m|dotted|bright|dim|antenna|vibration|mobile phone off|currency|curly|double curly|part alternation|wavy|male sign|female sign|transgender|multiply|fleur)/;

const withoutVariant = (code) =>
  code
    .toLowerCase()
    .split('-')
    .filter((part) => part !== 'fe0f')
    .join('-');
const codeOf = (emoji) =>
  withoutVariant([...emoji].map((c) => c.codePointAt(0).toString(16).padStart(4, '0')).join('-'));

function readNames() {
  const keywords = JSON.parse(readFileSync(require.resolve('emojilib/dist/emoji-en-US.json'), 'utf8'));
  const entries = Object.entries(require('unicode-emoji-json/data-by-emoji.json'));
  return new Map(
    entries.map(([emoji, { name, group }]) => [
      codeOf(emoji),
      { name: name.toLowerCase(), group, keywords: keywords[emoji] ?? [] },
    ]),
  );
}

/** Null, or why a thing is not learned. */
function reasonToDrop(code, entry) {
  if (/1f3f[b-f]/.test(code)) return 'skin tone';
  if (entry === undefined) return 'not in the list of names';
  if (entry.group === 'Flags' || entry.name.startsWith('flag')) return 'flag';
  if (/o.clock|-thirty|thirty$/.test(entry.name)) return 'clock face';
  const isSign = sign.test(entry.name) && !drawnSign.test(entry.name);
  return isSign || (entry.group === 'Symbols' && symbol.test(entry.name)) ? 'sign or variant' : null;
}

async function render(icon, icons) {
  const { width = icons.width ?? 16, height = icons.height ?? 16, left = 0, top = 0 } = icon;
  const longest = Math.max(width, height);
  const pad = longest * 0.03;
  const box = [
    left - (longest - width) / 2 - pad,
    top - (longest - height) / 2 - pad,
    longest + 2 * pad,
    longest + 2 * pad,
  ];
  const names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
  const svg = `<svg ${names} viewBox="${box.join(' ')}" width="${side}" height="${side}">${icon.body}</svg>`;
  const image = sharp(Buffer.from(svg)).flatten({ background: 'white' }).removeAlpha().toColourspace('srgb').raw();
  return await image.toBuffer();
}

function inkOf(rgb) {
  let ink = 0;
  for (let at = 0; at < rgb.length; at += 3) if (rgb[at] + rgb[at + 1] + rgb[at + 2] < 740) ink += 1;
  return ink;
}

const names = readNames();
const pixels = [];
const icons = [];
const dropped = {};
for (const [style, set] of Object.entries(sets)) {
  const drawings = require(`@iconify-json/${set}/icons.json`);
  const { spdx } = require(`@iconify-json/${set}/info.json`).license;
  if (!licenses.includes(spdx)) throw new Error(`${set} has the license ${spdx}`);
  const seen = new Set();
  for (const [code, name] of Object.entries(require(`@iconify-json/${set}/chars.json`))) {
    const key = withoutVariant(code);
    const entry = names.get(key);
    if (seen.has(key) || seen.size >= limit) continue;
    const icon = drawings.icons[name];
    const rgb = reasonToDrop(key, entry) === null && icon ? await render(icon, drawings).catch(() => null) : null;
    const isDrawn = rgb !== null && rgb.length === side * side * 3 && inkOf(rgb) >= 200;
    if (!isDrawn) {
      const why = reasonToDrop(key, entry) ?? 'no drawing';
      dropped[why] = (dropped[why] ?? 0) + 1;
      continue;
    }
    seen.add(key);
    pixels.push(rgb);
    icons.push({ style, set, icon: name, code: key, ...entry });
  }
}
mkdirSync(out, { recursive: true });
writeFileSync(`${out}/pixels.bin`, Buffer.concat(pixels));
writeFileSync(`${out}/meta.json`, JSON.stringify({ size: side, icons }));
console.log(`${icons.length} drawings of ${new Set(icons.map(({ code }) => code)).size} things; left out:`, dropped);
