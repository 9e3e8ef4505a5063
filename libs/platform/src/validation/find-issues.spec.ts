import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import {
  BooleanField,
  CheckedField,
  ChoiceField,
  IntegerField,
  NumberField,
  ObjectField,
  ObjectListField,
  ScalarListField,
  TextField,
} from '../http/request-fields.js';
import { findIssues, findUnknownMembers, validateBody } from './find-issues.js';

const description = 'A field.';

class Circle {
  @ChoiceField(['circle'], { required: true, description }) kind!: string;
  @NumberField({ required: true, minimum: 0, description }) radius!: number;
}

class Label {
  @ChoiceField(['label'], { required: true, description }) kind!: string;
  @TextField({ required: true, minLength: 1, maxLength: 5, description }) text!: string;
}

class Frame {
  @BooleanField({ description }) visible?: boolean;
}

class Drawing {
  @TextField({ required: true, description }) title!: string;
  @IntegerField({ minimum: 0, exclusiveMinimum: true, maximum: 9, description }) layer?: number;
  @NumberField({ minimum: -1, maximum: 1, description }) tilt?: number;
  @ScalarListField('integer', { minItems: 1, maxItems: 3, description }) tags?: number[];
  @ObjectField(Frame, { description }) frame?: Frame;
  @CheckedField({
    name: 'isEven',
    description,
    schema: { type: 'integer' },
    check: (value) => (Number(value) % 2 === 0 ? null : `must be even, not ${String(value)}`),
  })
  even?: number;

  @ObjectListField(
    ({ kind }) => {
      if (kind === 'circle') return Circle;
      return kind === 'label' ? Label : { problem: 'must be circle or label', at: 'kind' };
    },
    [Circle, Label],
    { description },
  )
  shapes?: (Circle | Label)[];
}

function messagesOf(changes: object): string[] {
  return findIssues(Drawing, { title: 'x', ...changes }).map(({ message }) => message);
}

describe('validateBody', () => {
  it('returns the same value with its undocumented fields', () => {
    const value = { title: 'x', invented: [1], shapes: [{ kind: 'label', text: 'a', more: true }] };
    expect(validateBody(Drawing, value)).toBe(value);
  });

  it('treats null as absent on an optional field, but not on a required one', () => {
    expect(messagesOf({ layer: null, shapes: null, frame: null })).toEqual([]);
    expect(messagesOf({ title: null })).toEqual(['title is required']);
  });

  it.each([
    [{ layer: 0 }, 'layer must not be less than 1'],
    [{ layer: 1.5 }, 'layer must be an integer number'],
    [{ tags: [] }, 'tags must contain at least 1 elements'],
    [{ tags: [1, 'a'] }, 'each value in tags must be an integer number'],
    [{ frame: 7 }, 'frame must be an object'],
    [{ frame: { visible: 'no' } }, 'frame.visible must be a boolean value'],
    [{ even: 3 }, 'even must be even, not 3'],
    [{ shapes: [{ kind: 'circle', radius: 1 }, 7] }, 'shapes[1] must be an object'],
    [{ shapes: [{ kind: 'square' }] }, 'shapes[0].kind must be circle or label'],
    [{ shapes: [{ kind: 'label', text: 'too long' }] }, 'shapes[0].text must be shorter than or equal to 5 characters'],
  ])('reports where and what is wrong in %j', (changes, message) => {
    expect(messagesOf(changes)).toEqual([message]);
  });

  it('names the first issue and lists at most twenty', () => {
    const shapes = Array.from({ length: 1000 }, () => ({ kind: 'circle', radius: -1 }));
    const refuse = (): unknown => validateBody(Drawing, { title: 'x', shapes });
    expect(refuse).toThrowError(PlatformError);
    expect(findIssues(Drawing, { title: 'x', shapes })).toHaveLength(20);
    expect(findIssues(Drawing, { title: 'x', shapes })[0]).toMatchObject({
      code: 'too_small',
      path: ['shapes', 0, 'radius'],
    });
  });

  it.each([null, 7, 'x', [], undefined])('rejects %j as a body', (value) => {
    expect(() => validateBody(Drawing, value)).toThrowError('The body must be a JSON object.');
  });

  it('agrees with class-validator on every flat value', () => {
    const anything = fc.oneof(
      fc.integer({ min: -3, max: 12 }),
      fc.double(),
      fc.string(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.integer(), { maxLength: 5 }),
    );
    const drawing = fc.record({ title: anything, layer: anything, tilt: anything, tags: anything, even: anything });
    fc.assert(
      fc.property(drawing, (value) => {
        const theirs = validateSync(Object.assign(new Drawing(), value)).map(({ property }) => property);
        expect(findIssues(Drawing, value).map(({ path }) => path[0])).toEqual(theirs);
      }),
    );
  });
});

describe('findUnknownMembers', () => {
  const unknownOf = (value: object) => findUnknownMembers(Drawing, value).map(({ path }) => path);

  it('names members that no class has, nested ones too, and no others', () => {
    expect(unknownOf({ title: 'x', layer: 2, frame: { visible: true }, tags: [1] })).toEqual([]);
    const shapes = [
      { kind: 'label', text: 'a' },
      { kind: 'circle', radius: 1, colour: 'red' },
    ];
    expect(unknownOf({ title: 'x', shapes, frame: { width: 1 }, invented: {} })).toEqual([
      ['shapes', 1, 'colour'],
      ['frame', 'width'],
      ['invented'],
    ]);
  });

  it('takes null for absent, and cuts long names', () => {
    expect(unknownOf({ title: 'x', invented: null })).toEqual([]);
    expect(unknownOf({ title: 'x', ['n'.repeat(1000)]: 1 })).toEqual([['n'.repeat(64)]]);
    expect(unknownOf(Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`n${index}`, 1])))).toHaveLength(20);
  });
});
