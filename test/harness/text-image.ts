import sharp from 'sharp';

/** A text to render. */
export interface RenderedText {
  text: string;
  /** Position of its top left corner, in pixels. */
  x: number;
  y: number;
  /** Height of the letters, roughly, in pixels. */
  size: number;
  /** Degrees, clockwise. */
  turn?: number;
}

export interface PageOptions {
  width?: number;
  height?: number;
  /** Quarters by which the whole page is turned, clockwise. */
  quarters?: number;
}

/** Renders dark texts on light paper with a font of the system, as PNG. */
export async function renderTextPage(
  texts: readonly RenderedText[],
  { width = 900, height = 500, quarters = 0 }: PageOptions = {},
): Promise<Buffer> {
  // The product lets only its image decoder load files, and this may run beside it.
  sharp.unblock({ operation: ['VipsForeignLoadPng'] });
  const layers = await Promise.all(
    texts.map(async ({ text, x, y, size, turn = 0 }) => {
      const input = await sharp({
        text: { text: `<span foreground="#202020">${text}</span>`, font: `sans ${size}`, dpi: 72, rgba: true },
      })
        .rotate(turn, { background: '#00000000' })
        .png()
        .toBuffer();
      return { input, left: x, top: y };
    }),
  );
  const page = await sharp({ create: { width, height, channels: 3, background: '#fdfbf5' } })
    .composite(layers)
    .png()
    .toBuffer();
  return await sharp(page)
    .rotate(quarters * 90)
    .png()
    .toBuffer();
}
