import { join } from 'node:path';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { openGraph } from '../runtime/open-graph.js';
import { VoiceActivity } from './voice-activity.js';

/**
 * Opens the voice activity graph of the manifest (`familyOptions.voiceActivityFile`); null without one. It runs on one
 * CPU thread on every device, because it is too small for a GPU.
 */
export async function loadVoiceActivity({ directory, familyOptions }: HostLoadOptions): Promise<VoiceActivity | null> {
  const file = familyOptions.voiceActivityFile;
  if (typeof file !== 'string') return null;
  const session = await openGraph({
    modelPath: join(directory, file),
    providers: ['cpu'],
    intraOpThreads: 1,
    spinning: false,
  });
  return new VoiceActivity(session);
}
