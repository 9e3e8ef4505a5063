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
