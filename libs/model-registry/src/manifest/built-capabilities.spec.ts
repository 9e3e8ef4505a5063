import { describe, expect, it } from 'vitest';
import { builtCapabilities } from './built-capabilities.js';
import { noCapabilities } from './capabilities.schema.js';

describe('builtCapabilities', () => {
  const capabilities = { ...noCapabilities, supportsVision: true, supportsMultipleImages: true, maxImages: 3 };

  it('leaves sight to families that see', () => {
    const seeing = builtCapabilities({ type: 'text', family: 'vision-language', capabilities });
    expect(seeing).toMatchObject({ supportsVision: true, supportsMultipleImages: true });
    const blind = { supportsVision: false, supportsMultipleImages: false };
    expect(builtCapabilities({ type: 'text', family: 'decoder', capabilities })).toMatchObject(blind);
    expect(builtCapabilities({ type: 'text', capabilities })).toMatchObject(blind);
  });

  it('invents no sight', () => {
    const { supportsVision } = builtCapabilities({
      type: 'text',
      family: 'vision-language',
      capabilities: noCapabilities,
    });
    expect(supportsVision).toBe(false);
  });
});
