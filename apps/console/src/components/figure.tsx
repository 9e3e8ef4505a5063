import type { ComponentChildren, JSX } from 'preact';

/** One figure of a view, with a link to what is behind it. */
export function Figure({
  label,
  value,
  note,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </div>
  );
}

export function Figures({ children }: { children: ComponentChildren }): JSX.Element {
  return <dl class="figures">{children}</dl>;
}
