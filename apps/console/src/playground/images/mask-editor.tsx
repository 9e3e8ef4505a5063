import type { JSX, TargetedPointerEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface MaskEditorProps {
  image: ImageBitmap;
  /** Gets a PNG that is transparent where the image is to be edited; null: nothing is painted. */
  onMask: (mask: Blob | null) => void;
}

/** Paints the part of an image that is to be edited. */
export function MaskEditor({ image, onMask }: MaskEditorProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strokes = useRef<OffscreenCanvas>(new OffscreenCanvas(image.width, image.height));
  const last = useRef<{ x: number; y: number } | null>(null);
  const [brush, setBrush] = useState(Math.max(8, Math.round(image.width / 12)));

  const clear = (): void => {
    strokes.current = new OffscreenCanvas(image.width, image.height);
    draw(canvas.current, image, strokes.current);
    onMask(null);
  };
  useEffect(clear, [image]);

  const paint = (event: TargetedPointerEvent<HTMLCanvasElement>): void => {
    if (event.buttons === 0) return;
    const point = positionOn(event);
    addStroke(strokes.current, last.current ?? point, point, brush);
    last.current = point;
    draw(canvas.current, image, strokes.current);
  };
  const finish = (): void => {
    if (last.current === null) return;
    last.current = null;
    void toMask(image, strokes.current).then(onMask);
  };
  return (
    <div class="mask-editor">
      <p class="hint">Paint over the part that is to change. Without paint, the whole image is edited.</p>
      <canvas
        ref={canvas}
        width={image.width}
        height={image.height}
        role="img"
        aria-label="The image, with the painted part marked"
        onPointerDown={paint}
        onPointerMove={paint}
        onPointerUp={finish}
        onPointerLeave={finish}
      />
      <div class="buttons">
        <label>
          Brush{' '}
          <input
            type="range"
            min={4}
            max={Math.max(16, Math.round(image.width / 3))}
            value={brush}
            onInput={({ currentTarget }) => setBrush(currentTarget.valueAsNumber)}
          />
        </label>
        <button type="button" onClick={clear}>
          Clear the paint
        </button>
      </div>
    </div>
  );
}

/** The canvas may be shown smaller than the image is. */
function positionOn({ currentTarget, offsetX, offsetY }: TargetedPointerEvent<HTMLCanvasElement>): {
  x: number;
  y: number;
} {
  const scale = currentTarget.width / currentTarget.clientWidth;
  return { x: offsetX * scale, y: offsetY * scale };
}

function addStroke(
  strokes: OffscreenCanvas,
  from: { x: number; y: number },
  to: { x: number; y: number },
  width: number,
): void {
  const context = strokes.getContext('2d');
  if (context === null) return;
  context.strokeStyle = '#e5484d';
  context.lineWidth = width;
  context.lineCap = 'round';
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y);
  context.stroke();
}

function draw(canvas: HTMLCanvasElement | null, image: ImageBitmap, strokes: OffscreenCanvas): void {
  const context = canvas?.getContext('2d');
  if (context === null || context === undefined) return;
  context.globalAlpha = 1;
  context.drawImage(image, 0, 0);
  context.globalAlpha = 0.6;
  context.drawImage(strokes, 0, 0);
}

async function toMask(image: ImageBitmap, strokes: OffscreenCanvas): Promise<Blob> {
  const mask = new OffscreenCanvas(image.width, image.height);
  const context = mask.getContext('2d');
  if (context !== null) {
    context.fillStyle = '#000';
    context.fillRect(0, 0, mask.width, mask.height);
    context.globalCompositeOperation = 'destination-out';
    context.drawImage(strokes, 0, 0);
  }
  return mask.convertToBlob({ type: 'image/png' });
}
