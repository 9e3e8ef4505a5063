import { sharp, type Sharp } from '../sharp-settings.js';

// Only loaders for the formats that clients may send.
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

export { sharp, type Sharp };
