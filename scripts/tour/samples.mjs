import sharp from 'sharp';

/** A drawing of a disc before a gradient, as PNG. `shift` moves the disc to the right. */
export async function drawing({ width = 288, height = 256, shift = 0 } = {}) {
  const data = Buffer.alloc(width * height * 3);
  for (let index = 0; index < width * height; index += 1) {
    const [x, y] = [index % width, Math.floor(index / width)];
    const isDisc = Math.hypot(x - width / 3 - shift, y - height / 2) < height / 4;
    data.set(isDisc ? [220, 90, 40] : [40 + (x * 120) / width, 90 + (y * 120) / height, 160], index * 3);
  }
  return await sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/** A mask that is white in its middle. */
export async function mask({ width = 288, height = 256 } = {}) {
  const data = Buffer.alloc(width * height * 3);
  for (let index = 0; index < width * height; index += 1) {
    const [x, y] = [index % width, Math.floor(index / width)];
    if (Math.abs(x - width / 2) < 40 && Math.abs(y - height / 2) < 40) data.fill(255, index * 3, index * 3 + 3);
  }
  return await sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

export function dataUrl(bytes, contentType) {
  return `data:${contentType};base64,${bytes.toString('base64')}`;
}
