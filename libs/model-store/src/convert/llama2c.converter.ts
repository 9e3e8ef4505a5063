import { PlatformError } from '#common';
import type { ConversionRequest, ConversionResult } from './conversion.js';
export async function convertLlama2c(request: ConversionRequest): Promise<ConversionResult> {
  throw new PlatformError('INVALID_MODEL', `Not converted: ${request.inputFolder}`);
}
