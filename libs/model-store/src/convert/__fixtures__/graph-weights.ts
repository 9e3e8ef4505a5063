import { readOnnxModel } from '../../onnx/index.js';
import { InputFile } from '../input-file.js';

/** Returns the weights of the converted graph in a folder by name. */
export async function graphWeights(folder: string): Promise<Map<string, ArrayBuffer>> {
  const file = await InputFile.open(folder, 'model.onnx');
  try {
    const { initializers } = await readOnnxModel(file);
    const read = initializers.map(async ({ name, data }) => {
      return [name, (await file.read(data.start, data.length)).buffer] as const;
    });
    return new Map(await Promise.all(read));
  } finally {
    await file.close();
  }
}
