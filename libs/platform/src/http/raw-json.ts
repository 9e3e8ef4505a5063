import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';

/** The bytes of the body on a route with `RawJson`, as they came. Rejects with `INVALID_REQUEST` if there are none. */
export const RawJsonBody = createParamDecorator<undefined>((_data, context: ExecutionContext): Buffer => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  if (Buffer.isBuffer(body) && body.length > 0) return body;
  throw new PlatformError('INVALID_REQUEST', 'The body is empty.');
});
