import type { Block } from './blocks.js';
import type { Inline } from './inline.js';
import type { Outline } from './outline.js';

/* Builds nodes of a page. Text only ever becomes text nodes, so no answer can add elements, handlers or styles. */

type List = Extract<Block, { type: 'list' }>;

export function buildBlocks(page: Document, blocks: readonly Block[], outline: Outline): Node[] {
  return blocks.map((block) => buildBlock(page, block, outline));
}

function buildBlock(page: Document, block: Block, outline: Outline): Node {
  switch (block.type) {
    case 'heading':
      return element(page, `h${outline.place(block.level)}`, buildInline(page, block.children));
    case 'paragraph':
      return element(page, 'p', buildInline(page, block.children));
    case 'rule':
      return page.createElement('hr');
    case 'quote':
      return element(page, 'blockquote', buildBlocks(page, block.blocks, outline));
    case 'list':
      return buildList(page, block, outline);
    case 'table':
      return buildTable(page, block.head, block.rows);
  }
}

function buildList(page: Document, { start, items }: List, outline: Outline): Node {
  const children = items.map((item) =>
    element(page, 'li', [...buildInline(page, item.children), ...buildBlocks(page, item.blocks, outline)]),
  );
  const list = element(page, start === null ? 'ul' : 'ol', children);
  if (start !== null && start !== 1) list.setAttribute('start', String(start));
  return list;
}

function buildTable(page: Document, head: Inline[][], rows: Inline[][][]): Node {
  const row = (name: string, cells: Inline[][]): HTMLElement =>
    element(
      page,
      'tr',
      cells.map((cell) => element(page, name, buildInline(page, cell))),
    );
  return element(page, 'table', [
    element(page, 'thead', [row('th', head)]),
    element(
      page,
      'tbody',
      rows.map((cells) => row('td', cells)),
    ),
  ]);
}

function buildInline(page: Document, nodes: readonly Inline[]): Node[] {
  return nodes.map((node) => {
    switch (node.type) {
      case 'text':
        return page.createTextNode(node.text);
      case 'code':
        return element(page, 'code', [page.createTextNode(node.text)]);
      case 'break':
        return page.createElement('br');
      case 'strong':
        return element(page, 'strong', buildInline(page, node.children));
      case 'emphasis':
        return element(page, 'em', buildInline(page, node.children));
      case 'strike':
        return element(page, 'del', buildInline(page, node.children));
      case 'link':
        return buildLink(page, node.href, node.children);
    }
  });
}

function buildLink(page: Document, href: string, children: readonly Inline[]): Node {
  const link = element(page, 'a', buildInline(page, children));
  link.setAttribute('href', href);
  link.setAttribute('rel', 'noopener noreferrer nofollow');
  link.setAttribute('target', '_blank');
  return link;
}

function element(page: Document, name: string, children: readonly Node[]): HTMLElement {
  const created = page.createElement(name);
  created.append(...children);
  return created;
}
