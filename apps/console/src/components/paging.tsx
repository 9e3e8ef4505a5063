import type { JSX } from 'preact';

interface PagingProps {
  /** Cursors of the pages that the reader went through; the last is that of the current page. */
  cursors: readonly string[];
  setCursors: (cursors: string[]) => void;
  nextCursor: string | null;
}

/** Buttons for the pages of a list whose newest entries come first. */
export function Paging({ cursors, setCursors, nextCursor }: PagingProps): JSX.Element {
  return (
    <p class="pages">
      <button type="button" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
        Newer
      </button>
      <button
        type="button"
        disabled={nextCursor === null}
        onClick={() => nextCursor !== null && setCursors([...cursors, nextCursor])}
      >
        Older
      </button>
    </p>
  );
}
