import { join } from 'node:path';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { OrtSession } from '../runtime/ort-session.js';
import { VoiceActivity } from './voice-activity.js';

/**
 * The voice activity graph that the manifest names (`familyOptions.voiceActivityFile`); null where it names none. It
 * runs on one thread of the processor wherever the model itself runs: it is too small to be worth a device.
 */
export async function loadVoiceActivity({ directory, familyOptions }: HostLoadOptions): Promise<VoiceActivity | null> {
  const file = familyOptions.voiceActivityFile;
  if (typeof file !== 'string') return null;
  const session = await OrtSession.open({
    modelPath: join(directory, file),
    providers: ['cpu'],
    intraOpThreads: 1,
    spinning: false,
  });
  return new VoiceActivity(session);
}
