import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';

/** The bytes of a JSON body as they came, not parsed. */
export class RawJsonBytes {
  constructor(readonly bytes: Buffer) {}
}

/** The bytes of the body on a route with `RawJson`. Rejects with `INVALID_REQUEST` if there are none. */
export const RawJsonBody = createParamDecorator<undefined>((_data, context: ExecutionContext): Buffer => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  if (body instanceof RawJsonBytes && body.bytes.length > 0) return body.bytes;
  throw new PlatformError('INVALID_REQUEST', 'The body is empty.');
});
