import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { MarkdownWriter } from './markdown-writer.js';
import type { TextSource } from './text-source.js';

/** Shows a growing text as Markdown, at most once per frame. Preact renders the frame; the writer owns what is in it. */
export function StreamView({ source, label }: { source: TextSource; label: string }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current === null) return undefined;
    element.current.replaceChildren();
    const writer = new MarkdownWriter(element.current, document);
    let pending = '';
    let frame: number | null = null;
    const flush = (): void => {
      frame = null;
      if (pending !== '') writer.append(pending);
      pending = '';
    };
    const cancelFrame = (): void => {
      if (frame !== null) cancelAnimationFrame(frame);
      frame = null;
    };
    const endFollowing = source.follow((piece) => {
      if (piece === null) {
        cancelFrame();
        flush();
        writer.end();
      } else {
        pending += piece;
        frame ??= requestAnimationFrame(flush);
      }
    });
    return () => {
      endFollowing();
      cancelFrame();
    };
  }, [source]);
  return <div class="markdown" ref={element} role="group" aria-label={label} />;
}
