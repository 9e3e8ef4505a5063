import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';

/** Values per style. */
export const styleSize = 256;

/**
 * Voices of a model: `voices/<name>.bin`, each a table with one style per text length in symbols. The first two letters
 * of a name are language and sex: `af_sky` is American, `bm_george` British.
 */
export class KokoroVoices {
  private readonly loaded = new Map<string, Float32Array>();

  private constructor(
    private readonly folder: string,
    readonly names: readonly string[],
  ) {}

  /** Rejects with `INVALID_MODEL` if there are no voices. */
  static async open(directory: string): Promise<KokoroVoices> {
    const folder = join(directory, 'voices');
    const files = await readdir(folder).catch(() => []);
    const names = files.filter((file) => file.endsWith('.bin')).map((file) => file.slice(0, -'.bin'.length));
    if (names.length === 0) throw new PlatformError('INVALID_MODEL', 'This model has no voices.');
    return new KokoroVoices(folder, names.sort());
  }

  /** Returns the style of a voice for a text of `symbols` symbols. A voice is read on first use. */
  async style(name: string, symbols: number): Promise<Float32Array> {
    const table = this.loaded.get(name) ?? (await this.read(name));
    const row = Math.min(symbols, table.length / styleSize - 1);
    return table.slice(row * styleSize, (row + 1) * styleSize);
  }

  private async read(name: string): Promise<Float32Array> {
    // Only names of files found at load reach this line, so no request input becomes part of a path.
    const bytes = await readFile(join(this.folder, `${name}.bin`));
    if (bytes.length === 0 || bytes.length % (styleSize * 4) !== 0) {
      throw new PlatformError('INVALID_MODEL', `The voice ${name} of this model is damaged.`);
    }
    const table = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    this.loaded.set(name, table);
    return table;
  }
}
