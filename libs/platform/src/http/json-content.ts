import { getSchemaPath } from '@nestjs/swagger';

/** A class that describes a wire format. */
export type WireClass = new () => object;

/** OpenAPI `content` of a JSON body in the format of this class. */
export function jsonContent(model: WireClass): { 'application/json': { schema: { $ref: string } } } {
  return { 'application/json': { schema: { $ref: getSchemaPath(model) } } };
}
