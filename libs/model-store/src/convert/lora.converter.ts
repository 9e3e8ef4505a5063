import { PlatformError } from '#common';
import { readInstalledBase } from '../adapter/adapted-base.js';
import { adapterDataFile, adapterFile } from '../adapter/adapter-file.js';
import { PeftAdapter } from '../adapter/peft-adapter.js';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { OutputFolder } from './output-folder.js';
import { filesOfFolder } from './safetensors/model-files.js';

/**
 * A LoRA as PEFT saves it → installed adapter: `adapter_config.json` and `adapter_model.safetensors` become `adapter.json`
 * and `adapter.bin`. Its base must be installed, because names and sizes are compared with it. No options.
 */
export async function convertLora(request: ConversionRequest): Promise<ConversionResult> {
  const { baseFolder, inputFolder, options } = request;
  refuseUnknownOptions(options, []);
  if (baseFolder === undefined) {
    throw new PlatformError('INVALID_MANIFEST', 'The converter `lora` is for models with `adapterOf`.', 'adapterOf');
  }
  const output = new OutputFolder(request);
  const adapter = await PeftAdapter.open(await filesOfFolder(inputFolder), await readInstalledBase(baseFolder));
  try {
    await output.writing(async () => {
      await output.writePieces(adapterDataFile, adapter.matrices());
      await output.writeJson(adapterFile, adapter.index());
    });
  } finally {
    await adapter.close();
  }
  return { converter: converterVersions.lora, files: output.files };
}
