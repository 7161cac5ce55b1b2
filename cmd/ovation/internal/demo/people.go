package demo

import "ovation/cmd/ovation/internal/demo/picture"

// person is one of the people of the demo. All of them are invented.
type person struct {
	id   string // of the user, and of the account (see storage.User.AccountKey)
	name string
	bio  string
	face picture.Face
}

// Colours of skin and hair.
const (
	pale, fair, tan, olive, brown, deep = 0xf8d7c0, 0xf0c19c, 0xd9a074, 0xc98f63, 0x9c623f, 0x6b4129

	black, darkBrown, chestnut, copper, blond, silver, white, teal = 0x231f26, 0x3d2a20, 0x6e4023, 0xb9562a, 0xe2b661, 0xa3a3ad, 0xe9e6e0, 0x2c8c8c
)

// people lists the people; the first three are the viewers that the pages offer.
var people = []person{
	{"alice", "Alice", "Up before everyone. Bread, ridges, and one very old camera. 爱早起，爱面包。", picture.Face{Back: 0xf6c28b, Skin: fair, HairColour: copper, Clothes: 0x2f6f73, Hair: picture.Wavy, Collar: picture.Crew, Freckles: true, Blush: true}},
	{"bob", "Bob", "I fix things that still work. Owner of two squeaky door hinges.", picture.Face{Back: 0x9cc5d3, Skin: tan, HairColour: darkBrown, Clothes: 0xd1603d, Hair: picture.Short, Beard: picture.Full, Collar: picture.Shirt, Glasses: picture.Square}},
	{"carol", "Carol", "Weather first, then the route, then the cake. Will carry your rope.", picture.Face{Back: 0xb8d8ba, Skin: deep, HairColour: black, Clothes: 0xe8b23a, Hair: picture.Afro, Mouth: picture.Grin, Earrings: true}},
	{"mei", "林小梅", "一只猫，三盆（曾经的）绿植，每天五点准时被叫醒。拍窗边的日常。", picture.Face{Back: 0xf4b6b6, Skin: pale, HairColour: black, Clothes: 0x7a5c99, Hair: picture.Bob, Blush: true, Collar: picture.Turtleneck}},
	{"tomas", "Tomás Arroyo", "Slow trains, left side, window seat. If it has a timetable, I have read it.", picture.Face{Back: 0xe6d3a3, Skin: olive, HairColour: black, Clothes: 0x35506b, Hair: picture.Curly, Beard: picture.Moustache, Collar: picture.Stripes}},
	{"xiaoyu", "小雨", "下雨天出门，晴天补觉。收集各个城市的雨声。", picture.Face{Back: 0x8fb3cf, Skin: fair, HairColour: black, Clothes: 0xf2c94c, Hair: picture.Long, Glasses: picture.Round, Collar: picture.Hood}},
	{"wei", "阿伟", "天桥常驻人口。延时摄影，三脚架比我出门次数多。", picture.Face{Back: 0x4a4e7c, Skin: tan, HairColour: black, Clothes: 0x2a2d43, Hair: picture.Short, Hat: picture.Cap, HatColour: 0xe4572e, Collar: picture.Hood, Mouth: picture.Calm}},
	{"pia", "Pia Mosswell", "Bryologist by heart: I look at moss so that you don't have to. Bakes badly, eats well.", picture.Face{Back: 0xc9d99b, Skin: pale, HairColour: blond, Clothes: 0x5a7d3a, Hair: picture.Braids, Freckles: true, Mouth: picture.Grin}},
	{"kofi", "Kofi Drumfield", "Drums by day, stars by night. Sleeps on trains.", picture.Face{Back: 0xf0a35e, Skin: deep, HairColour: black, Clothes: 0x274060, Hair: picture.Short, Hat: picture.Headphones, HatColour: 0xe9c46a, Mouth: picture.Smile, Beard: picture.Stubble}},
	{"nadia", "Надя Снегирёва", "Люблю тишину после снегопада. I write down the date of the first snow.", picture.Face{Back: 0xcfd9ec, Skin: pale, HairColour: chestnut, Clothes: 0x9b2f3f, Hair: picture.Long, Hat: picture.Beanie, HatColour: 0xc8553d, Collar: picture.Turtleneck, Blush: true}},
	{"otto", "Otto Schraube", "Wet wood, one match. Holzwurm. There is always one screw left over.", picture.Face{Back: 0xd8b08c, Skin: fair, HairColour: silver, Clothes: 0x4f6d5c, Hair: picture.Bald, Beard: picture.Full, Glasses: picture.Round, Collar: picture.Shirt}},
	{"zoe", "Zoë Tandem", "Two wheels, four if I bring a friend. Usually in 23A.", picture.Face{Back: 0xa6d6d6, Skin: brown, HairColour: teal, Clothes: 0xf25f5c, Hair: picture.Mohawk, Earrings: true, Mouth: picture.Grin}},
	{"nils", "Nils Fjordhatt", "North of everything. My camera batteries hate me.", picture.Face{Back: 0x2f5d62, Skin: pale, HairColour: blond, Clothes: 0x1d3557, Hair: picture.Short, Beard: picture.Full, Hat: picture.Beanie, HatColour: 0xf1faee, Collar: picture.Turtleneck}},
	{"ines", "Inês Salgado", "Nasci com sal nas mãos. Pier, boats, and old Rui who never brings fish.", picture.Face{Back: 0xffd1a9, Skin: olive, HairColour: darkBrown, Clothes: 0x2a9d8f, Hair: picture.Bun, Earrings: true, Collar: picture.Stripes}},
	{"amara", "Amara Kitewood", "Paints shop signs by hand and repaints the commas every spring.", picture.Face{Back: 0xe9c46a, Skin: deep, HairColour: black, Clothes: 0xb5446e, Hair: picture.Braids, Glasses: picture.Round, Collar: picture.VNeck}},
	{"yuki", "ゆき", "パンと活版印刷。インクの匂いが好きです。", picture.Face{Back: 0xf7d6e0, Skin: pale, HairColour: darkBrown, Clothes: 0x577590, Hair: picture.Bob, Glasses: picture.Square, Mouth: picture.Calm, Collar: picture.Shirt}},
	{"fatima", "فاطمة", "أحب النجوم والقهوة والأسئلة الطويلة. Ask me where north is.", picture.Face{Back: 0x9a8fbf, Skin: tan, HairColour: black, Clothes: 0x3d405b, Hat: picture.Scarf, HatColour: 0x5f9ea0, Blush: true}},
	{"ravi", "Ravi Tarang", "Records empty halls and the people who leave them. पहले सुनो, फिर बोलो।", picture.Face{Back: 0xf3a683, Skin: brown, HairColour: black, Clothes: 0x596275, Hair: picture.Parted, Beard: picture.Moustache, Glasses: picture.Round, Collar: picture.Crew}},
	{"ling", "玲玲", "种菜、腌菜、送菜。阳台六盆番茄，邻居都认识我。", picture.Face{Back: 0xbfe3b4, Skin: fair, HairColour: black, Clothes: 0xe76f51, Hair: picture.Bun, Hat: picture.SunHat, HatColour: 0xe9d8a6, Mouth: picture.Grin, Blush: true}},
	{"marek", "Marek Ołówek", "Two inks, one accident. Prints things that should have been kept.", picture.Face{Back: 0xd6ccc2, Skin: fair, HairColour: chestnut, Clothes: 0x6d597a, Hair: picture.Parted, Beard: picture.Stubble, Glasses: picture.Square, Collar: picture.VNeck}},
	{"hana", "하나", "소리를 모으는 사람. 눈 오는 날의 소리가 제일 좋아요.", picture.Face{Back: 0xc3bef0, Skin: pale, HairColour: black, Clothes: 0xde6b48, Hair: picture.Long, Hat: picture.Headphones, HatColour: 0xf6f6f6, Collar: picture.Hood}},
	{"leo", "Leo Papelito", "One sheet, one cut, eight pages. Issue two is about snails' houses.", picture.Face{Back: 0xffe0ac, Skin: tan, HairColour: chestnut, Clothes: 0x3a7ca5, Hair: picture.Curly, Freckles: true, Mouth: picture.Grin, Collar: picture.Stripes}},
	{"dayo", "Dayo Brightwater", "Harbour pilot in training. Twelve ropes, ten knots, one whistle.", picture.Face{Back: 0x7fb7be, Skin: brown, HairColour: black, Clothes: 0xf4f1de, Hair: picture.Short, Hat: picture.Cap, HatColour: 0x1d3557, Beard: picture.Stubble, Collar: picture.Shirt}},
	{"qing", "青青", "骑车上班第三年。雨衣比车贵，轮胎宁可软一点。", picture.Face{Back: 0xa8dadc, Skin: fair, HairColour: darkBrown, Clothes: 0x457b9d, Hair: picture.Wavy, Mouth: picture.Calm, Collar: picture.Hood, Freckles: true}},
	{"esme", "Esme Fernhill", "Allotment 14. The slugs know me by name.", picture.Face{Back: 0xe2c6a4, Skin: pale, HairColour: white, Clothes: 0x81b29a, Hair: picture.Bun, Glasses: picture.Round, Earrings: true, Blush: true}},
	{"bao", "宝哥", "修自行车的，顺便修收音机。敲一敲就知道哪里松了。", picture.Face{Back: 0xb7b7a4, Skin: tan, HairColour: black, Clothes: 0x264653, Hair: picture.Bald, Beard: picture.Moustache, Mouth: picture.Grin, Collar: picture.Crew}},
	{"lucia", "Lucía Faro", "Colecciono faros que todavía arden. Lighthouse number 31 is next.", picture.Face{Back: 0xf28482, Skin: olive, HairColour: black, Clothes: 0x1f4e5f, Hair: picture.Wavy, Glasses: picture.Dark, Collar: picture.VNeck, Mouth: picture.Smile}},
	{"sana", "Sana Quill", "Reads the margins first. Library card number 7.", picture.Face{Back: 0xdab6fc, Skin: brown, HairColour: darkBrown, Clothes: 0x5e548e, Hat: picture.Scarf, HatColour: 0xe0aaff, Glasses: picture.Round, Mouth: picture.Calm}},
	{"anton", "Anton Glockmann", "Tunes bells and complains about trams. A bell is a conversation.", picture.Face{Back: 0x90a4ae, Skin: fair, HairColour: silver, Clothes: 0x37474f, Hair: picture.Parted, Beard: picture.Moustache, Collar: picture.Turtleneck, Mouth: picture.Surprised}},
	{"jun", "大军", "周末木工。家具是给猫坐的，椅子腿第五次才一样长。", picture.Face{Back: 0xe5b181, Skin: tan, HairColour: black, Clothes: 0x606c38, Hair: picture.Curly, Glasses: picture.Square, Beard: picture.Stubble, Collar: picture.Hood}},
}
