import { t } from '../messages';
import type { Connection } from './connection';

const small = 1 << 20; // bytes: larger pictures are scaled before they are sent
const side = 1024; // pixels of the longer side of a scaled picture

// uploadAvatar makes a picture the avatar of the viewer. It returns why that failed, or
// undefined.
export async function uploadAvatar(connection: Connection, file: File): Promise<string | undefined> {
  const form = new FormData();
  form.set('file', await scaled(file));
  let code: string | undefined;
  let wait = 0; // seconds
  try {
    const response = await fetch('/media/avatars', { method: 'POST', headers: connection.headers(), body: form });
    if (response.ok) return undefined;
    wait = Number(response.headers.get('Retry-After'));
    const reply: { errors?: { extensions: { code: string } }[] } = await response.json().catch(() => ({})); // a proxy's may be no JSON
    code = reply.errors?.[0]?.extensions.code;
  } catch {
    return navigator.onLine ? t.errors.unreachable : t.errors.isOffline;
  }
  switch (code) {
    case 'BAD_USER_INPUT':
      return t.account.pictureRejected;
    case 'LIMIT_EXCEEDED':
      return t.account.pictureTooLarge;
    case 'RATE_LIMITED':
      return t.login.tooManyAttempts(wait || 10);
    case 'NOT_FOUND':
      return t.account.noPictures;
    case 'UNAUTHENTICATED':
      return t.account.pictureLogIn;
    default:
      return t.errors.isUnavailable;
  }
}

// scaled returns a smaller JPEG file of a large picture, or the file as it is if the browser
// cannot decode it.
async function scaled(file: File): Promise<Blob> {
  if (file.size <= small) return file;
  try {
    const picture = await createImageBitmap(file);
    const share = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(picture.width * share));
    canvas.height = Math.max(1, Math.round(picture.height * share));
    const context = canvas.getContext('2d')!;
    context.fillStyle = '#fff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    return await new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? file), 'image/jpeg', 0.9));
  } catch {
    return file;
  }
}
