import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { FormBody } from './form-body.js';
import { IntegerField } from './request-fields.js';
import { BodyValidationPipe } from './request-body.js';

class Wire {
  @IntegerField({ description: 'How many.', required: true, minimum: 1 })
  count!: number;
}

const pipe = new BodyValidationPipe(Wire);

describe('BodyValidationPipe', () => {
  it('gives handlers the checked class, from JSON and from a form', () => {
    const form = new FormBody();
    form.add('count', '2');
    for (const body of [{ count: 2 }, form]) expect(pipe.transform(body)).toMatchObject({ count: 2 });
  });

  it('refuses a body by the field that is wrong', () => {
    for (const [body, param] of [
      [{ count: 0 }, 'count'],
      [{}, 'count'],
      [undefined, null],
    ] as const) {
      expect(() => pipe.transform(body)).toThrow(PlatformError);
      expect(() => pipe.transform(body)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
    }
  });
});
