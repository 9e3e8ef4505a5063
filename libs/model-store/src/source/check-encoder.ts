import { readBert } from '../convert/bert/bert-files.js';
import { EncoderSettings } from '../convert/bert/encoder-config.js';
import { readRotary, rotaryTypes } from '../convert/bert/rotary-files.js';
import { SafetensorsFile } from '../convert/bert/safetensors-file.js';
import type { ModelFiles } from '../convert/safetensors/model-files.js';

/**
 * Reads the settings and the headers of the weights of an encoder. Fails with `INVALID_MODEL` for what the converter would refuse
 * too, before anything is downloaded.
 */
export async function checkEncoder(files: ModelFiles, config: Record<string, unknown>): Promise<void> {
  const settings = new EncoderSettings(config);
  const source = await SafetensorsFile.of(files);
  try {
    if (rotaryTypes.includes(settings.type)) readRotary(settings, source);
    else readBert(settings, source);
  } finally {
    await source.close();
  }
}
