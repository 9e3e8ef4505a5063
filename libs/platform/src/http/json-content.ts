import { getSchemaPath } from '@nestjs/swagger';

/** A class that describes a body. */
export type SchemaClass = new () => object;

/** OpenAPI `content` of a JSON body in the format of this class. */
export function jsonContent(model: SchemaClass): { 'application/json': { schema: { $ref: string } } } {
  return { 'application/json': { schema: { $ref: getSchemaPath(model) } } };
}
