import type { GraphTensor } from '../../runtime/graph-session.js';
import { unfit, type VisionConfig } from './preprocessor-config.js';
import type { VisionSession } from './vision-session.js';

/** Rows and columns of patches. */
export interface PatchGrid {
  rows: number;
  columns: number;
}

interface Place {
  row: number;
  column: number;
}

/**
 * Inputs of a converted encoder beside the patches: where each patch is, which rows of the table of places
 * lie around it, and its window. The runs of an export compute these from the size of the grid.
 *
 * Source: `vision_utils.py` of transformers 5.23.
 */
export class QwenVisionFeeds {
  private readonly inputs: ReadonlySet<string>;

  constructor(
    private readonly session: VisionSession,
    private readonly config: VisionConfig & { merge: number; patch: number },
  ) {
    this.inputs = new Set(session.inputNames);
    if (this.inputs.has('table_places') && !Number.isInteger(this.tableSide)) {
      throw unfit('num_position_embeddings of its config.json is not a square');
    }
  }

  feeds(grid: PatchGrid): Record<string, GraphTensor> {
    const { session, inputs } = this;
    if (inputs.has('image_grid_thw')) {
      return { image_grid_thw: session.integers([1, grid.rows, grid.columns], [1, 3]) };
    }
    const places = placesOf(grid, this.config.merge);
    const count = places.length;
    const rowsAndColumns = [...places.map(({ row }) => row), ...places.map(({ column }) => column)];
    return {
      patch_places: session.integers(rowsAndColumns, [2, count]),
      ...(inputs.has('table_places') ? this.tableFeeds(places, grid) : {}),
      ...(inputs.has('window_patches') ? this.windowFeeds(places, grid) : {}),
    };
  }

  private get tableSide(): number {
    return Math.sqrt(this.config.num_position_embeddings ?? 0);
  }

  /** The table covers the image, whatever its grid: values between its rows are interpolated. */
  private tableFeeds(places: readonly Place[], { rows, columns }: PatchGrid): Record<string, GraphTensor> {
    const side = this.tableSide;
    const count = places.length;
    const found = new Array<number>(4 * count);
    const weights = new Float32Array(4 * count);
    places.forEach(({ row, column }, patch) => {
      const down = neighbors(row, rows, side);
      const across = neighbors(column, columns, side);
      down.forEach((above, first) =>
        across.forEach((left, second) => {
          const at = (2 * first + second) * count + patch;
          found[at] = above.index * side + left.index;
          weights[at] = above.weight * left.weight;
        }),
      );
    });
    const dims = [4, count];
    return {
      table_places: this.session.integers(found, dims),
      table_weights: this.session.floats('table_weights', weights, dims),
    };
  }

  /** Windows cover whole groups of patches; those at the right and lower edge are padded with the first patch. */
  private windowFeeds(places: readonly Place[], { rows, columns }: PatchGrid): Record<string, GraphTensor> {
    const { merge, patch, window_size: windowSize = 112 } = this.config;
    const side = Math.floor(windowSize / merge / patch) * merge;
    if (side < 1) throw unfit('window_size of its config.json is less than a token');
    const across = Math.ceil(columns / side);
    const windows: number[][] = Array.from({ length: Math.ceil(rows / side) * across }, () => []);
    places.forEach(({ row, column }, index) => {
      windows[Math.floor(row / side) * across + Math.floor(column / side)]?.push(index);
    });
    const length = Math.max(...windows.map((window) => window.length));
    const dims = [windows.length, length];
    const patches = new Array<number>(windows.length * length).fill(0);
    const mask = new Int32Array(windows.length * length);
    const back = new Array<number>(places.length);
    windows.forEach((window, index) =>
      window.forEach((place, at) => {
        patches[index * length + at] = place;
        mask[index * length + at] = 1;
        back[place] = index * length + at;
      }),
    );
    return {
      window_patches: this.session.integers(patches, dims),
      window_mask: this.session.shortIntegers(mask, dims),
      patch_windows: this.session.integers(back, [places.length]),
    };
  }
}

/** Groups row by row, and in each the patches row by row. */
function placesOf({ rows, columns }: PatchGrid, merge: number): Place[] {
  const places: Place[] = [];
  for (let top = 0; top < rows; top += merge) {
    for (let left = 0; left < columns; left += merge) {
      for (let inner = 0; inner < merge ** 2; inner++) {
        places.push({ row: top + Math.floor(inner / merge), column: left + (inner % merge) });
      }
    }
  }
  return places;
}

/** The two rows of a table of `side` rows around the place of one of `size` patches; the first and the last meet its ends. */
function neighbors(index: number, size: number, side: number): { index: number; weight: number }[] {
  const at = Math.fround(Math.fround(index * (side - 1)) / Math.max(1, size - 1));
  const first = Math.floor(at);
  const weight = Math.fround(at - first);
  return [
    { index: first, weight: Math.fround(1 - weight) },
    { index: Math.min(side - 1, first + 1), weight },
  ];
}
