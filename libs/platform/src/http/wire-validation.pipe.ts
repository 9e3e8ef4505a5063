import { createParamDecorator, type ExecutionContext, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { readBody } from './read-body.js';

type WireType<Wire extends object> = new () => Wire;

/** Turns a body, of JSON or of a form, into a checked `type`. Rejects with `INVALID_REQUEST`, naming every fault. */
export class WireValidationPipe<Wire extends object> implements PipeTransform<unknown, Wire> {
  constructor(
    private readonly type: WireType<Wire>,
    private readonly adapt: (body: unknown) => unknown = (body) => body,
  ) {}

  transform(body: unknown): Wire {
    return readBody(this.type, { body: this.adapt(body) });
  }
}

const Payload = createParamDecorator<undefined>(
  (_data, context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>().body,
);

/**
 * The checked body of a request as `type`. A decorator of its own and not `@Body`: the OpenAPI document describes bodies
 * by the route's own decorator, with examples. `adapt` changes a body before it is checked.
 */
export function WireBody<Wire extends object>(
  type: WireType<Wire>,
  adapt?: (body: unknown) => unknown,
): ParameterDecorator {
  return Payload(undefined, new WireValidationPipe(type, adapt));
}
