/** A style: what it adds to the prompt and to the negative prompt. */
export interface StylePreset {
  name: string;
  prompt: string;
  negative: string;
}

/** Name, addition to the prompt and addition to the negative prompt, in the listed order. */
const table: readonly (readonly [name: string, prompt: string, negative: string])[] = [
  ['Photograph', 'photograph, natural light, 35 mm lens, fine detail', 'drawing, painting, render'],
  ['Portrait Photo', 'portrait photograph, soft window light, shallow focus, 85 mm lens', 'drawing, distorted face'],
  ['Film Photo', 'photograph on colour film, visible grain, slightly faded colours', 'digital, oversharpened'],
  ['Black and White', 'black and white photograph, strong contrast, deep shadows', 'colour'],
  ['Long Exposure', 'long exposure photograph, motion trails, still water', 'frozen motion'],
  ['Macro', 'extreme close-up, macro lens, tiny details, blurred background', 'wide shot'],
  ['Aerial', 'seen from high above, drone photograph, wide landscape', 'close-up'],
  ['Studio Product', 'product on a plain background, studio lights, soft shadow, catalog picture', 'clutter, text'],
  ['Cinematic', 'still of a feature film, wide screen, dramatic light, colour graded', 'amateur snapshot'],
  ['Noir', 'film noir, hard shadows, wet streets at night, venetian blinds', 'bright colours, daylight'],
  ['Watercolor', 'watercolour painting, wet paper, flowing pigment, white margins', 'photograph, hard edges'],
  ['Oil Painting', 'oil painting on canvas, thick brush strokes, rich colours', 'photograph, flat colour'],
  ['Gouache', 'gouache painting, matte opaque colours, simple shapes', 'photograph, gloss'],
  ['Acrylic', 'acrylic painting, bright layered paint, visible brushwork', 'photograph'],
  ['Impressionist', 'impressionist painting, broken brush strokes, changing light', 'photograph, hard outlines'],
  ['Expressionist', 'expressionist painting, distorted shapes, intense colours', 'photograph, realism'],
  ['Cubist', 'cubist painting, broken planes, several views at once', 'photograph, perspective'],
  ['Surreal', 'surreal scene, dream logic, impossible objects, careful detail', 'ordinary scene'],
  ['Pop Art', 'pop art, flat bright colours, bold outlines, printed dots', 'muted colours, photograph'],
  ['Art Nouveau', 'art nouveau poster, flowing lines, plant ornaments, framed figure', 'photograph, straight lines'],
  ['Art Deco', 'art deco, geometric ornament, gold and black, symmetry', 'photograph, disorder'],
  ['Woodcut', 'woodcut print, carved black lines, rough paper', 'colour gradient, photograph'],
  ['Linocut', 'linocut print, two colours, bold carved shapes', 'fine gradient, photograph'],
  ['Etching', 'etching, fine crosshatched lines, aged paper', 'colour, photograph'],
  ['Pencil Sketch', 'pencil sketch, graphite shading, construction lines', 'colour, photograph'],
  ['Charcoal', 'charcoal drawing, smudged shadows, rough strokes', 'colour, photograph'],
  ['Ink Wash', 'ink wash painting, few strokes, empty space, rice paper', 'bright colours, clutter'],
  ['Ink Drawing', 'pen and ink drawing, clean black lines, white background', 'colour, shading, photograph'],
  ['Pastel', 'soft pastel drawing, powdery colours, textured paper', 'photograph, hard edges'],
  ['Coloured Pencil', 'coloured pencil drawing, layered strokes, paper texture', 'photograph, flat fill'],
  ['Comic Book', 'comic book panel, inked outlines, halftone shading', 'photograph, text, speech bubble'],
  ['Manga', 'manga page drawing, screentone, expressive lines', 'photograph, colour'],
  ['Anime', 'animated film still, painted background, clean cel shading', 'photograph, rough sketch'],
  ['Children’s Book', 'illustration of a picture book, gentle colours, friendly shapes', 'frightening, photograph'],
  ['Line Art', 'line art, even thin outlines, no shading', 'shading, colour, photograph'],
  ['Vector Flat', 'flat vector illustration, simple shapes, few colours', 'texture, gradient, photograph'],
  ['Isometric', 'isometric view, small detailed scene, clean edges', 'perspective, photograph'],
  ['Low Poly', 'low polygon model, flat facets, simple light', 'smooth surface, photograph'],
  ['Clay Model', 'clay model, finger marks, stop motion set, soft light', 'drawing, flat'],
  ['Paper Cut', 'layered cut paper, small shadows between sheets', 'photograph of people, gloss'],
  ['Origami', 'folded paper, crisp creases, plain background', 'drawing, texture'],
  ['Embroidery', 'embroidered on cloth, visible stitches, coloured thread', 'photograph, smooth'],
  ['Stained Glass', 'stained glass window, lead lines, glowing colours', 'photograph, opaque'],
  ['Mosaic', 'mosaic of small tiles, uneven grout lines', 'smooth, photograph'],
  ['Pixel Art', 'pixel art, limited palette, crisp square pixels', 'smooth, blurry, photograph'],
  ['3D Render', 'rendered in 3D, physically based materials, soft studio light', 'drawing, flat'],
  ['Miniature', 'tilt shift photograph of a miniature world, tiny people', 'close-up portrait'],
  ['Fantasy', 'fantasy illustration, ancient ruins, magic light, rich detail', 'modern city, photograph'],
  ['Science Fiction', 'science fiction concept art, vast machines, distant planets', 'medieval, rustic'],
  ['Neon Night', 'city at night, neon lights, rain reflections, haze', 'daylight, countryside'],
];

export const stylePresets: readonly StylePreset[] = table.map(([name, prompt, negative]) => ({
  name,
  prompt,
  negative,
}));

const byName = new Map(stylePresets.map((style) => [style.name.toLowerCase(), style]));

/** Finds a style by name, ignoring case. */
export function findStyle(name: string): StylePreset | undefined {
  return byName.get(name.toLowerCase());
}
