import { getSchemaPath } from '@nestjs/swagger';

/** A class that says what lies on the wire. */
export type WireClass = new () => object;

/** The `content` of a body that is JSON in the form of this class. */
export function jsonContent(model: WireClass): { 'application/json': { schema: { $ref: string } } } {
  return { 'application/json': { schema: { $ref: getSchemaPath(model) } } };
}
