import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { leastProcessorMs } from '#test/processor-time';
import { formatCharacterCard, readCharacterCard } from './character-card.js';

const data = {
  name: 'Ada',
  description: '{{char}} builds engines with {{user}}.',
  personality: 'Exact.',
  scenario: 'A workshop.',
  first_mes: 'Hello {{user}}, I am <BOT>.',
  mes_example: '',
  creator: 'Byron',
  creator_notes: 'Made for tests.',
  tags: ['history', 'NSFW'],
  system_prompt: '{{original}} Talk as {{char}}.',
  character_book: {
    entries: [
      { content: 'Brass.', enabled: true, constant: true },
      { content: 'Steam.', keys: ['x'] },
    ],
  },
};
const v2 = { spec: 'chara_card_v2', spec_version: '2.0', data };
const json = (card: unknown) => Buffer.from(JSON.stringify(card));
const base64 = (card: unknown) => json(card).toString('base64');

function chunk(type: string, content: Buffer | string): Buffer {
  const named = Buffer.concat([Buffer.from(type), Buffer.from(content)]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(named.length - 4);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([frame, named, sum]);
}

const signature = Buffer.from('\x89PNG\r\n\x1A\n', 'latin1');
const png = (...chunks: Buffer[]) =>
  Buffer.concat([signature, chunk('IHDR', Buffer.alloc(13)), ...chunks, chunk('IEND', '')]);
const compressed = (text: string) => deflateSync(Buffer.from(text));

function refusalOf(bytes: Buffer): string {
  try {
    readCharacterCard(bytes, 'ada.png');
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

describe('a character card', () => {
  const read = readCharacterCard(json(v2), 'ada.json');

  it('becomes a character with its names filled in', () => {
    expect(read).toMatchObject({
      slug: 'ada',
      name: 'Ada',
      author: 'Byron',
      adult: true,
      description: 'Made for tests.',
    });
    expect(read.greeting).toBe('Hello the user, I am Ada.');
    expect(read.systemPrompt).toBe(
      'Talk as Ada.\n\nAbout Ada:\nAda builds engines with the user.\n\nPersonality:\nExact.\n\n' +
        'Scenario:\nA workshop.\n\nBackground:\nBrass.',
    );
  });

  it('may be of the first or the third version, or have another slug', () => {
    expect(readCharacterCard(json(data), 'ada.json')).toEqual(read);
    expect(readCharacterCard(json({ ...v2, spec: 'chara_card_v3' }), 'ada.json')).toEqual(read);
    expect(readCharacterCard(json(v2), 'ada.json', { slug: 'lady-ada', model: 'm' })).toEqual({
      ...{ ...read, slug: 'lady-ada', modelId: 'm' },
    });
  });

  it('is written so that it can be read back', () => {
    const plain = { ...read, adult: false, tags: ['history'] };
    expect(readCharacterCard(json(formatCharacterCard(plain)), 'ada.json')).toEqual(plain);
  });

  it.each([
    ['tEXt', chunk('tEXt', `chara\0${base64(v2)}`)],
    ['zTXt', chunk('zTXt', Buffer.concat([Buffer.from('Chara\0\0'), compressed(base64(v2))]))],
    ['iTXt', chunk('iTXt', `chara\0\0\0en\0\0${base64(v2)}`)],
    ['compressed iTXt', chunk('iTXt', Buffer.concat([Buffer.from('chara\0\x01\0\0\0'), compressed(base64(v2))]))],
  ])('is found in the chunk %s of a PNG', (_type, part) => {
    expect(readCharacterCard(png(part), 'ada.png')).toEqual(read);
  });

  it('of the third version wins in a PNG that has both', () => {
    const newer = chunk('tEXt', `ccv3\0${base64({ spec: 'chara_card_v3', data: { ...data, name: 'Grace' } })}`);
    expect(readCharacterCard(png(newer, chunk('tEXt', `chara\0${base64(v2)}`)), 'x.png').slug).toBe('grace');
  });
});

describe('a hostile card', () => {
  const good = png(chunk('tEXt', `chara\0${base64(v2)}`));

  it('with 400,000 blanks instead of base64 is refused in linear time', () => {
    const blanks = png(chunk('tEXt', `chara\0${' '.repeat(400_000)}!`));
    const read = () => readCharacterCard(blanks, 'card.png');
    expect(leastProcessorMs(1_500, () => expect(read).toThrow('is not base64'))).toBeLessThan(1_500);
  });

  const at = signature.length + 25;
  const changed = (position: number, value: number) => {
    const copy = Buffer.from(good);
    copy[position] = value;
    return copy;
  };
  const bomb = deflateSync(Buffer.alloc(64 * 1_048_576, 65), { level: 9 });

  it.each([
    ['no card', png(), 'it has no chunk chara or ccv3'],
    ['a chunk longer than the file', changed(at, 0x7f), 'the chunk tEXt at byte 33 is longer than the file'],
    ['a wrong checksum', changed(at + 20, 1), 'the checksum of the chunk tEXt at byte 33 is wrong'],
    ['no end', good.subarray(0, -12), 'the PNG ends within a chunk'],
    ['bytes instead of a chunk', changed(at + 4, 1), 'there is no PNG chunk at byte 33'],
    ['no keyword', png(chunk('tEXt', 'chara')), 'has no keyword'],
    ['too many chunks', png(...Array.from({ length: 10_001 }, () => chunk('tEXt', 'a\0'))), 'more than 10000 chunks'],
    [
      'a bomb',
      png(chunk('zTXt', Buffer.concat([Buffer.from('chara\0\0'), bomb]))),
      'unpacks to more than 8388608 bytes',
    ],
    ['a broken stream', png(chunk('zTXt', 'chara\0\0nonsense')), 'is not compressed text'],
    ['an unknown compression', png(chunk('zTXt', 'chara\0\x07xx')), 'has an unknown compression'],
    ['an iTXt chunk without text', png(chunk('iTXt', 'chara\0\0\0en')), 'has no text'],
    ['text that is not base64', png(chunk('tEXt', 'chara\0{"a":1}')), 'is not base64'],
    ['base64 of no JSON', png(chunk('tEXt', 'chara\0eHh4')), 'is not JSON'],
    ['an array', json([1]), 'must be a JSON object'],
    ['another format', json({ spec: 'x', data }), 'spec must be one of'],
    ['no data', json({ spec: 'chara_card_v2', data: 1 }), 'data must be an object'],
    ['no name', json({ ...v2, data: { ...data, name: 1 } }), 'ada.png: data.name must be a string'],
    ['a name without letters', json({ ...v2, data: { ...data, name: '星' } }), 'slug may hold a-z'],
    ['a long field', json({ ...v2, data: { ...data, scenario: 'x'.repeat(32_001) } }), 'data.scenario must be shorter'],
    [
      'a long prompt',
      json({ ...v2, data: { ...data, description: 'x'.repeat(31_999) } }),
      'systemPrompt must be shorter',
    ],
    [
      'tags that are no text',
      json({ ...v2, data: { ...data, tags: [1] } }),
      'each value in data.tags must be a string',
    ],
  ])('with %s is refused', (_what, bytes, problem) => {
    expect(refusalOf(bytes)).toMatch(/^ada\.png: /);
    expect(refusalOf(bytes)).toContain(problem);
  });
});
