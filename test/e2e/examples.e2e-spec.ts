import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { sourcePath } from '#test/source-program';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyImages } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { installTinyReranker } from '#test/tiny-reranker';
import { installTinyWhisper } from '#test/tiny-speech';
import { installTinyInterpolator } from '#test/tiny-video';
import { installTinyKokoro } from '#test/tiny-voice';

/* Every file of examples/ as a reader runs it, on tiny models. */

const hasPython = spawnSync('python3', ['--version']).status === 0;

/** What each file prints. */
const expected: Record<string, RegExp> = {
  'chat.mjs':
    /^> Name a city in Italy\.\n.*\n  \(\d+ tokens, \$0\.\d+, ended by \w+\)\n> What is it known for\?\n.*\n  \(\d+ tokens/s,
  'stream.py': /\n\([1-9]\d* tokens\)\n$/,
  'tools.mjs': /^get_weather\(\{"city": ?".*"\}\) returned \{"city":".*","sky":"clear","celsius":21\}\n.*\n$/s,
  'structured-output.py': /^['"].*['"] is a (cat|dog|bird) of \d+ years\.\n$/,
  'files.mjs': /^costs\.csv is [1-9]\d+ tokens of the prompt\.\n.*\n$/s,
  'search.py': /^(embedding -?\d\.\d{3}  .+\n){3}(rerank    \d\.\d{3}  .+\n){3}$/,
  'images.mjs': /^image\.png: [1-9]\d+ bytes\ncut-out\.png: [1-9]\d+ bytes\n$/,
  'speech-and-transcription.py': /^speech\.wav: [1-9]\d{3,} bytes\n\d+\.\d s of audio: .*\n$/s,
  'video-job.mjs':
    /^A video of \S+ costs \$[\d.e-]+\.\n(PROCESSING [\d.]+ %\n)*video\.mp4: [1-9]\d{2,} bytes\nThe result is deleted from the service\.\n$/,
  'spend-limited-key.py':
    /^Created a key .+\n(Chat \d+ cost \$0\.\d+\.\n)+Refused with 402 API_KEY_USD_SPEND_LIMIT_EXCEEDED\.\nDeleted the key\.\n$/,
};

let home: string;
let scratch: string;
let platform: Platform;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  scratch = await mkdtemp(join(tmpdir(), 'sluice-examples-'));
  const manifests = [
    await installTinyModel(home, { contextLength: 2_048, manifest: { traits: { default: 1 } } }),
    await installTinyEncoder(home),
    await installTinyReranker(home, 'tiny-bert-reranker'),
    await installTinyKokoro(home),
    await installTinyWhisper(home),
    ...(await installTinyImages(home)),
    await installTinyInterpolator(home, { manifest: { traits: { interpolate: 1 } } }),
  ];
  platform = await startPlatform({ engine: 'text', home, manifests });
});
afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await Promise.all([home, scratch].map((folder) => rm(folder, { recursive: true, force: true })));
  }
});

/** Runs one example in an empty folder. */
async function run(name: string): Promise<{ stdout: string; stderr: string; code: number }> {
  const program = name.endsWith('.py') ? 'python3' : process.execPath;
  const env = {
    PATH: process.env.PATH,
    SLUICE_URL: platform.origin,
    SLUICE_API_KEY: platform.inferenceKey,
    SLUICE_ADMIN_KEY: platform.adminKey,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONIOENCODING: 'utf-8',
  };
  return await new Promise((resolve) => {
    execFile(program, [sourcePath(`examples/${name}`)], { env, cwd: scratch }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
    });
  });
}

describe('examples/', () => {
  // Modules; tee.e2e-spec.ts calls them.
  const called = ['verify-attestation.mjs', 'verify-receipt.mjs'];

  it('holds the files that run here, and its README names each of them', async () => {
    const about = ['README.md', 'package.json'];
    const files = (await readdir(sourcePath('examples'))).filter((name) => !about.includes(name));
    expect(files.toSorted()).toEqual([...Object.keys(expected), ...called].toSorted());
    const readme = await readFile(sourcePath('examples/README.md'), 'utf8');
    const rows = [...readme.matchAll(/^\| `([\w.-]+)` +\| .+ \|$/gm)].map(([, name]) => name ?? '');
    expect(rows.toSorted()).toEqual(files.toSorted());
  });

  it.each(Object.keys(expected).filter((name) => hasPython || !name.endsWith('.py')))('%s runs', async (name) => {
    const { stdout, stderr, code } = await run(name);
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(expected[name] ?? /^$/);
  });
});
