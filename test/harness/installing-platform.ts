import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { largeManifest, publishLarge } from './large-model.js';
import { type Platform, startPlatform } from './platform.js';
import { stopConsistently } from './stop-consistently.js';
import { copyTinyDecoder } from './tiny-decoders.js';
import { installTinyModel } from './tiny-models.js';
import { WeightsServer } from './weights-server.js';

/** A platform whose ops installs models: `./tiny` from its import folder, and `large` from a hub. */
export interface InstallingPlatform {
  home: string;
  hub: WeightsServer;
  platform: Platform;
  /** The pool of its worker. */
  pool: string;
  close(): Promise<void>;
}

export async function startInstallingPlatform(): Promise<InstallingPlatform> {
  const pool = 'own';
  const home = await realpath(await mkdtemp(join(tmpdir(), 'sluice-installs-')));
  const hub = await WeightsServer.start();
  let platform: Platform | undefined;
  const close = async (): Promise<void> => {
    try {
      await stopConsistently(platform);
    } finally {
      await hub.close();
      await rm(home, { recursive: true, force: true });
    }
  };
  try {
    publishLarge(hub);
    const source = join(home, 'import', 'tiny');
    await mkdir(source, { recursive: true });
    await copyTinyDecoder('llama', source);
    platform = await startPlatform({
      engine: 'text',
      home,
      // `large` is registered and never placed, so that no worker loads what is no graph.
      manifests: [await installTinyModel(home), largeManifest({ internal: true })],
      unnamed: ['large'],
      env: { SLUICE_POOL: pool },
      processEnv: { ops: { SLUICE_MODEL_INSTALLS: 'true', HF_ENDPOINT: hub.url } },
    });
    return { home, hub, platform, pool, close };
  } catch (error) {
    await close();
    throw error;
  }
}
