import type { ComponentChildren, JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Empty } from './states.js';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** What the column sorts by; absent: it does not sort. */
  sort?: (row: Row) => string | number | bigint | null;
  /** Figures stand on the right, below each other. */
  isNumber?: boolean;
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  empty: ComponentChildren;
  /** A last row, such as the total. */
  footer?: ComponentChildren;
}

interface Order {
  column: number;
  isDescending: boolean;
}

/** A table with a caption that scrolls by itself on a narrow screen. Headings of columns that sort are buttons. */
export function Table<Row>({ caption, columns, rows, rowKey, empty, footer }: TableProps<Row>): JSX.Element {
  const [order, setOrder] = useState<Order | null>(null);
  const sorted = useMemo(() => sortRows(rows, columns, order), [rows, columns, order]);
  return (
    <div class="table-scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <Heading key={column.title} column={column} index={index} order={order} setOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} class={isNumber === true ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {footer !== undefined && rows.length > 0 && <tfoot>{footer}</tfoot>}
      </table>
      {rows.length === 0 && <Empty>{empty}</Empty>}
    </div>
  );
}

interface HeadingProps<Row> {
  column: Column<Row>;
  index: number;
  order: Order | null;
  setOrder: (order: Order) => void;
}

function Heading<Row>({ column, index, order, setOrder }: HeadingProps<Row>): JSX.Element {
  const { title, sort, isNumber } = column;
  const isChosen = order?.column === index;
  const direction = isChosen ? (order.isDescending ? 'descending' : 'ascending') : undefined;
  // Figures are most often looked for from the largest down.
  const next = { column: index, isDescending: isChosen ? !order.isDescending : isNumber === true };
  return (
    <th scope="col" class={isNumber === true ? 'number' : undefined} aria-sort={direction}>
      {sort === undefined ? (
        title
      ) : (
        <button type="button" class="sort" onClick={() => setOrder(next)}>
          {title}
          <span class={isChosen ? undefined : 'weak'} aria-hidden="true">
            {isChosen ? (order.isDescending ? ' ↓' : ' ↑') : ' ↕'}
          </span>
        </button>
      )}
    </th>
  );
}

function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order | null): readonly Row[] {
  const sort = order === null ? undefined : columns[order.column]?.sort;
  if (order === null || sort === undefined) return rows;
  const sign = order.isDescending ? -1 : 1;
  return rows.toSorted((left, right) => sign * compare(sort(left), sort(right)));
}

function compare(left: string | number | bigint | null, right: string | number | bigint | null): number {
  if (left === null || right === null) return left === right ? 0 : left === null ? -1 : 1;
  if (typeof left === 'string' && typeof right === 'string') return left.localeCompare(right);
  return left < right ? -1 : left > right ? 1 : 0;
}
