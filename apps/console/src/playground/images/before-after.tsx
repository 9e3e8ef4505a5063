import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** Two images on top of each other, with a slider that moves the border between them. */
export function BeforeAfter({ before, after }: { before: string; after: string }): JSX.Element {
  const id = useId();
  const top = useRef<HTMLImageElement>(null);
  const [share, setShare] = useState(50);
  // The content security policy forbids style attributes, so the style is set by script.
  useEffect(() => top.current?.style.setProperty('clip-path', `inset(0 0 0 ${share}%)`), [share]);
  return (
    <figure class="before-after">
      <div class="stack">
        <img src={before} alt="Before" />
        <img src={after} alt="After" ref={top} />
      </div>
      <label for={id}>Before and after</label>
      <input
        id={id}
        type="range"
        min={0}
        max={100}
        value={share}
        onInput={({ currentTarget }) => setShare(currentTarget.valueAsNumber)}
      />
      <a href={after} download="result.png">
        Download the result
      </a>
    </figure>
  );
}
