/* Responses of `api/v1/characters`. */

export interface Character {
  id: string;
  slug: string;
  name: string;
  description: string | null;
  author: string;
  adult: boolean;
  featured: boolean;
  webEnabled: boolean;
  modelId: string;
  tags: string[];
  createdAt: string;
  updatedAt: string;
  stats: { averageRating: number; imports: number; ratingCount: number };
}

export interface Review {
  id: string;
  rating: number;
  message: string | null;
  username: string;
  createdAt: string;
}

export interface ReviewPage {
  data: Review[];
  pagination: { page: number; totalPages: number; total: number };
}

/** The documents of a character, and the model that embedded them; null: there are none. */
export interface CharacterFiles {
  model: string | null;
  data: { id: string; name: string; passages: number }[];
}

/** A character with what only operators see, of `api/admin/v1/characters/{slug}`. */
export interface AdminCharacter {
  slug: string;
  name: string;
  description: string | null;
  systemPrompt: string;
  greeting: string | null;
  model: string;
  tags: string[];
  author: string;
  adult: boolean;
  featured: boolean;
  webAccess: boolean;
  photoUrl: string | null;
  shareUrl: string | null;
  documents: CharacterFiles;
}
