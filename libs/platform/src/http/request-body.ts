import { createParamDecorator, type ExecutionContext, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { readBody } from './read-body.js';

type BodyClass<Body extends object> = new () => Body;

/** Turns a body, of JSON or of a form, into a checked `type`. Rejects with `INVALID_REQUEST`, naming every fault. */
export class BodyValidationPipe<Body extends object> implements PipeTransform<unknown, Body> {
  constructor(
    private readonly type: BodyClass<Body>,
    private readonly adapt: (body: unknown) => unknown = (body) => body,
  ) {}

  transform(body: unknown): Body {
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
export function RequestBody<Body extends object>(
  type: BodyClass<Body>,
  adapt?: (body: unknown) => unknown,
): ParameterDecorator {
  return Payload(undefined, new BodyValidationPipe(type, adapt));
}
