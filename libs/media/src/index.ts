export * from './encoded/base64.js';
export * from './picture/decode-picture.js';
export * from './picture/edit-pixels.js';
export { encodePicture, type EncodeOptions } from './picture/encode-picture.js';
export * from './picture/picture-header.js';
export * from './picture/pixels.js';
