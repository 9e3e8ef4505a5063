import { Type } from 'class-transformer';
import { IsDefined, ValidateNested } from '#platform/validation';

/** Requires an object of the schema. `@ValidateNested()` alone accepts a missing one. */
export function IsNested(schema: new () => object): PropertyDecorator {
  return (target, property) => {
    for (const decorate of [IsDefined(), ValidateNested(), Type(() => schema)]) decorate(target, property);
  };
}
