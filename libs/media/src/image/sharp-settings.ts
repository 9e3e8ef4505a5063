import { createRequire } from 'node:module';
import type { Sharp } from 'sharp';

// Required, not imported: an `import` of CommonJS parses each of its files again at each process start.
const sharp = createRequire(import.meta.url)('sharp') as typeof import('sharp').default;

// Images rarely repeat, so a cache would only hold memory.
sharp.cache(false);

// No loader at all: files are decoded in a process of their own, and raw pixels need none.
sharp.block({ operation: ['VipsForeignLoad'] });

export { sharp, type Sharp };
