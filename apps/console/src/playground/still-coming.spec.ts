import { describe, expect, it } from 'vitest';
import type { Model } from './models.js';
import { stillComing } from './still-coming.js';

const model = (id: string, offline: boolean): Model => ({
  id,
  type: 'text',
  model_spec: { name: `Name ${id}`, offline },
});

describe('what is still coming', () => {
  it('is nothing once every model is online', () => {
    expect(stillComing([model('a', false)])).toBeNull();
    expect(stillComing([])).toBeNull();
  });

  it('is named with its type, and many are counted', () => {
    expect(stillComing([model('a', true), model('b', false)])).toBe(
      'Not online yet: Name a (text). Each can be used once it is pulled and loaded.',
    );
    const many = Array.from({ length: 9 }, (_, index) => model(String(index), true));
    expect(stillComing(many)).toContain('Name 5 (text) and 3 more.');
  });
});
