import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tone, wavFile } from '#test/wav-file';

const run = promisify(execFile);

/** A recording as clients, recorders and radio streams write it. */
export interface AudioForm {
  /** Name of the file. */
  name: string;
  /** Length of what it holds, in seconds; a cut or joined stream may differ by some frames. */
  seconds: number;
  bytes: Buffer;
}

/** Level of the sound of each form: root mean square. */
export const formLevel = 0.3 / Math.SQRT2;
const seconds = 3;

/**
 * Makes one file of each form in `folder`, with ffmpeg. Each holds a tone of 300 Hz and must be read completely.
 */
export async function makeAudioForms(folder: string): Promise<AudioForm[]> {
  await mkdir(folder, { recursive: true });
  const source = join(folder, 'source.wav');
  await writeFile(source, wavFile(tone(seconds)));
  const made = async (name: string, ...args: string[]): Promise<Buffer> => {
    const path = join(folder, name);
    await run('ffmpeg', ['-loglevel', 'error', '-y', '-i', source, ...args, path]);
    return await readFile(path);
  };
  const forms = [...(await channelForms(made)), ...(await headForms(made)), ...(await lengthForms(made))];
  for (const { name, bytes } of forms) await writeFile(join(folder, name), bytes);
  return forms;
}

type Make = (name: string, ...args: string[]) => Promise<Buffer>;

/** Two channels of opposite phases, as one balanced input on both makes them. */
async function channelForms(made: Make): Promise<AudioForm[]> {
  const forms: AudioForm[] = [];
  for (const ending of ['wav', 'flac', 'mp3', 'm4a', 'ogg']) {
    const opposite = ['-af', 'pan=stereo|c0=c0|c1=-1*c0'];
    forms.push({ name: `opposite-phases.${ending}`, seconds, bytes: await made(`opposite.${ending}`, ...opposite) });
  }
  const nearly = await made('nearly.wav', '-af', 'pan=stereo|c0=c0|c1=-0.95*c0');
  return [...forms, { name: 'nearly-opposite-phases.wav', seconds, bytes: nearly }];
}

const plainMp3 = ['-c:a', 'libmp3lame', '-b:a', '64k', '-write_xing', '0', '-id3v2_version', '0'];

/** What precedes the first frame or header. */
async function headForms(made: Make): Promise<AudioForm[]> {
  const [mp3, aac] = [await made('plain.mp3', ...plainMp3), await made('plain.aac', '-c:a', 'aac')];
  const [flac, wav] = [await made('plain.flac'), wavFile(tone(seconds))];
  const [tag, ape] = [id3({ stated: 300 }), apeTag(200)];
  const heads: [string, Buffer[]][] = [
    ['two-tags.mp3', [tag, id3({ stated: 50 }), mp3]],
    ['tag-states-too-little.mp3', [id3({ stated: 300, actual: 400 }), mp3]],
    ['byte-behind-tag.mp3', [tag, Buffer.alloc(1), mp3]],
    ['large-tag.mp3', [id3({ stated: 200_000 }), mp3]],
    ['zeros.mp3', [Buffer.alloc(2_000), mp3]],
    ['junk.mp3', [Buffer.from('junk! '.repeat(70)), mp3]],
    ['line-end.mp3', [Buffer.from('\r\n'), mp3]],
    ['ape-tag.mp3', [ape, mp3]],
    ['cut-in-a-frame.mp3', [mp3.subarray(100)]],
    ['cut-in-a-frame.aac', [aac.subarray(100)]],
    ['tag.flac', [tag, flac]],
    ['large-tag.flac', [id3({ stated: 200_000 }), flac]],
    ['tag.wav', [tag, wav]],
    ['large-tag.wav', [id3({ stated: 200_000 }), wav]],
  ];
  return heads.map(([name, parts]) => ({ name, seconds, bytes: Buffer.concat(parts) }));
}

/** Headers that state another length than there is, and streams whose first frames say nothing about the others. */
async function lengthForms(made: Make): Promise<AudioForm[]> {
  const forms: AudioForm[] = [0, 0x3fffffff, 1_000_000_000, 2_000_000_000, 0x7fffffff, 0xffffffff].map((stated) => {
    const bytes = wavFile(tone(seconds));
    bytes.writeUInt32LE(stated, 40);
    return { name: `states-${stated}.wav`, seconds, bytes };
  });
  const alaw = await made('alaw.wav', '-c:a', 'pcm_alaw', '-fflags', '+bitexact');
  alaw.writeUInt32LE(2_000_000_000, alaw.indexOf('data', 0, 'latin1') + 4);
  forms.push({ name: 'states-too-much-alaw.wav', seconds, bytes: alaw });
  const rates = async (rate: string, xing: string): Promise<Buffer> =>
    await made(`${rate}.mp3`, '-c:a', 'libmp3lame', '-b:a', rate, '-ar', '44100', '-write_xing', xing);
  const [high, low] = [await rates('320k', '0'), await rates('32k', '0')];
  const lowTimes = (times: number): Buffer[] => Array.from({ length: times }, () => low);
  forms.push(
    { name: 'joined-320-then-32.mp3', seconds: 13 * seconds, bytes: Buffer.concat([high, ...lowTimes(12)]) },
    { name: 'joined-32-then-320.mp3', seconds: 13 * seconds, bytes: Buffer.concat([...lowTimes(12), high]) },
  );
  const stated = await rates('96k', '1');
  forms.push({ name: 'joined-with-headers.mp3', seconds: 4 * seconds, bytes: Buffer.concat(Array(4).fill(stated)) });
  const aac = [
    await made('high.aac', '-c:a', 'aac', '-b:a', '256k'),
    await made('low.aac', '-c:a', 'aac', '-b:a', '16k'),
  ];
  const [highAac = low, lowAac = low] = aac;
  const joined = Buffer.concat([highAac, ...Array.from({ length: 12 }, () => lowAac)]);
  return [...forms, { name: 'joined-256-then-16.aac', seconds: 13 * seconds, bytes: joined }];
}

/** An ID3v2 tag that may be longer than it states. */
function id3({ stated, actual = stated }: { stated: number; actual?: number }): Buffer {
  const size = [21, 14, 7, 0].map((bits) => (stated >> bits) & 0x7f);
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), Buffer.from(size), Buffer.alloc(actual)]);
}

/** An APEv2 tag with a header, which is wrong in front of a stream and common. */
function apeTag(bytes: number): Buffer {
  const header = Buffer.alloc(32);
  header.write('APETAGEX', 0, 'latin1');
  header.writeUInt32LE(2_000, 8);
  header.writeUInt32LE(bytes, 12);
  header.writeUInt32LE(0xa0000000, 20);
  return Buffer.concat([header, Buffer.alloc(bytes)]);
}
