import sharp, { type Sharp } from 'sharp';

// Pictures come and go; a cache of them would only be memory that never falls.
sharp.cache(false);

// Of all that the library can read, only what callers may send. What comes as pixels needs no loader.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

export { sharp, type Sharp };
