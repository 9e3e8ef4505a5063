/** An RGB image without repeated regions. */
export function patterned(width: number, height: number, shift = 0): Uint8Array {
  return Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3);
    const [x, y] = [(pixel % width) + shift, Math.floor(pixel / width)];
    const disc = Math.hypot(x - width / 2, y - height / 2) < height / 4 ? 90 : 0;
    return (disc + 60 * Math.sin(x / 9 + (at % 3)) + 60 * Math.cos(y / 13) + 128) & 255;
  });
}
