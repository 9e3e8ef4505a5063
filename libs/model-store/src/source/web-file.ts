import type { ByteSource } from '../convert/byte-source.js';
import { invalidFile } from '../convert/invalid-file.js';
import { readWebRange, type WebRequest } from './web-request.js';

/** A file behind a url, of which only the parts are fetched that are read. */
export class WebFile implements ByteSource {
  private constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly web: WebRequest,
  ) {}

  static async open(web: WebRequest, name: string): Promise<WebFile> {
    const { totalBytes } = await readWebRange(web, 0, 1);
    return new WebFile(name, totalBytes, web);
  }

  async read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (length === 0) return new Uint8Array();
    const { content } = await readWebRange(this.web, position, length);
    if (content.length !== length)
      throw invalidFile(this.name, `it ends at byte ${position + content.length}, cut short`);
    return content;
  }
}
