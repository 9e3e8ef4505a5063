import { Readable } from 'node:stream';
import { Controller, Delete, Get, Param, StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { DownloadService } from '#jobs';
import { Access, Exchange, type HttpExchange } from '#platform/http';
import type { ByteRange } from '#storage';

const extensions: Record<string, string> = {
  'video/mp4': 'mp4',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

/**
 * Serves download links. They are returned with the responses they belong to, so the API document does not list them;
 * docs/operate/storage.md does.
 */
@Controller('media')
@ApiExcludeController()
export class DownloadController {
  constructor(private readonly downloads: DownloadService) {}

  @Get(':token')
  @Access('anonymous')
  async download(@Param('token') token: string, @Exchange() http: HttpExchange): Promise<StreamableFile> {
    const { request, reply } = http;
    // A request for the size does not use up a download.
    if (request.method === 'HEAD') {
      const { contentType, bytes } = await this.downloads.look(token);
      http.setHeaders(headersOf(contentType));
      return new StreamableFile(Readable.from([]), { length: bytes });
    }
    let range: ByteRange | undefined;
    const { record, stream } = await this.downloads.open(token, request.ip, (bytes) => {
      range = rangeOf(request.headers.range, bytes);
      return range;
    });
    http.setHeaders(headersOf(record.contentType));
    if (range === undefined) return new StreamableFile(stream, { length: record.bytes });
    const { first, last } = range;
    void reply.status(206).header('content-range', `bytes ${first}-${last}/${record.bytes}`);
    return new StreamableFile(stream, { length: last - first + 1 });
  }

  @Delete(':token')
  @Access('anonymous')
  async revoke(@Param('token') token: string): Promise<{ success: true }> {
    await this.downloads.revoke(token);
    return { success: true };
  }
}

function headersOf(contentType: string): Record<string, string> {
  const extension = extensions[contentType];
  return {
    'content-type': contentType,
    'content-disposition': `attachment; filename="media${extension === undefined ? '' : `.${extension}`}"`,
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
  };
}

/** Returns one satisfiable range; anything else gets the whole file, as HTTP allows. */
function rangeOf(header: string | undefined, bytes: number): ByteRange | undefined {
  const [matched, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (matched === undefined || (from === '' && to === '')) return undefined;
  const first = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  return first <= last ? { first, last } : undefined;
}
