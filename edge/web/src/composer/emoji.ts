/** The emoji of the picker by group, each with the words that find it, in English and Chinese. */

import type { ComposerStrings } from '../text/composer.ts';

type GroupName = keyof ComposerStrings['emojiGroups'];

/** One emoji a line: itself, then its words. */
export const EMOJI: Readonly<Record<GroupName, string>> = {
  faces: `😀 grin smile happy 笑 开心
😃 smile joy 笑 高兴
😄 laugh happy 大笑
😁 beam grin 嘻嘻
😅 sweat relief 汗 尴尬
😂 tears joy laugh 笑哭
🤣 rolling laugh 笑翻
🙂 slight smile 微笑
😉 wink 眨眼
😊 blush shy 害羞 微笑
😍 love eyes 喜欢 爱
😘 kiss 亲亲
😋 yum tasty 好吃
😜 tongue joke 调皮
🤔 think hmm 思考
🤨 doubt eyebrow 怀疑
😐 neutral 无语
🙄 eye roll 白眼
😏 smirk 得意
😴 sleep 睡
😷 mask ill 口罩 生病
🤯 mind blown 震惊
😎 cool sunglasses 酷
🤓 nerd 书呆子
😕 confused 困惑
😮 surprise wow 惊讶
😳 flushed 脸红
🥺 please plead 可怜
😢 cry sad 哭 难过
😭 sob cry 大哭
😱 scream fear 害怕
😤 huff proud 哼
😡 angry 生气
💀 skull dead 笑死 骷髅`,
  hands: `👍 like thumbs up good 赞 顶
👎 dislike thumbs down bad 踩
👌 ok okay 好的
✌️ victory peace 耶
🤞 luck fingers crossed 祝好运
🤙 call shaka 六
👏 clap applause 鼓掌
🙌 hooray hands 万岁
🙏 thanks pray please 谢谢 拜托
🤝 handshake deal 握手
💪 strong muscle 加油 强
👋 wave hello bye 你好 再见
👉 point right 指
☝️ point up one 一
✍️ write 写
👀 eyes look 围观 看
🤷 shrug 不知道 摊手
🤦 facepalm 捂脸
🙋 raise hand 举手
🧑‍💻 coder computer 程序员
👶 baby 宝宝
🏃 run 跑`,
  signs: `❤️ heart love red 爱心 红心
🧡 orange heart 爱心
💛 yellow heart 爱心
💚 green heart 爱心
💙 blue heart 爱心
💜 purple heart 爱心
💔 broken heart 心碎
💯 hundred perfect 满分
✅ check done yes 对 完成
❌ cross no wrong 错
❓ question 问号
❗ exclamation 感叹号
⚠️ warning 警告
➕ plus 加
💬 comment speech 评论
💤 sleep zzz 睡
🎵 music note 音乐
🔥 fire hot 火
✨ sparkles 闪亮
⭐ star 星
🎉 party tada 庆祝
🚀 rocket ship launch 火箭`,
  nature: `🐶 dog 狗
🐱 cat 猫
🐭 mouse 老鼠
🐰 rabbit 兔
🦊 fox 狐狸
🐻 bear 熊
🐼 panda 熊猫
🐯 tiger 虎
🐮 cow 牛
🐷 pig 猪
🐔 chicken 鸡
🐧 penguin 企鹅
🦆 duck 鸭
🐢 turtle 乌龟
🐍 snake python 蛇
🐳 whale docker 鲸鱼
🦀 crab rust 螃蟹
🐛 bug 虫
🌸 blossom flower 花 樱花
🌹 rose 玫瑰
🌲 tree 树
🍀 clover luck 幸运
🌞 sun 太阳
🌙 moon 月亮
🌈 rainbow 彩虹
⚡ lightning fast 闪电
❄️ snow cold 雪
🌊 wave sea 海浪`,
  food: `🍎 apple 苹果
🍉 watermelon melon 西瓜 吃瓜
🍋 lemon 柠檬
🍓 strawberry 草莓
🍅 tomato 番茄
🥕 carrot 胡萝卜
🍞 bread 面包
🍔 burger 汉堡
🍕 pizza 披萨
🍜 noodles ramen 面条
🍚 rice 米饭
🥟 dumpling 饺子
🍰 cake 蛋糕
🎂 birthday cake 生日
🍬 candy 糖
☕ coffee tea 咖啡
🍵 tea 茶
🍺 beer 啤酒
🍻 cheers beers 干杯`,
  things: `🏠 house home 房子 家
🏗️ building construction 盖楼 工地
🏢 building office 楼 大厦
🪜 ladder 梯子
🧱 brick 砖
💡 idea bulb 主意 灯
📌 pin 图钉
📎 paperclip 回形针
📚 books 书
📝 note memo 笔记
📷 camera photo 相机
📱 phone 手机
💻 laptop computer 电脑
⌨️ keyboard 键盘
🔗 link 链接
🔒 lock 锁
🔑 key 钥匙
🔧 wrench tool 工具
⏰ alarm clock 闹钟
🎁 gift present 礼物
🎮 game 游戏
⚽ football soccer 足球
🏆 trophy win 奖杯
🚲 bicycle bike 自行车
🚗 car 汽车
✈️ plane travel 飞机
💰 money 钱`,
};
