"""Common names by origin, and words of the same languages that are no names: cities, dishes, firms, months, languages.

Names and words were written down from general knowledge, without a list of others. A checksum of each word says on
which side it stands: `TRAINED` is for training, `HELD_OUT` for the benchmark alone; a name of two origins is on one side.
"""

# Lists are easier to read in long lines, and Turkish has a letter without a dot.
# ruff: noqa: E501, RUF001

from __future__ import annotations

import random
import string
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluators.base import Span

TRAINED, HELD_OUT = 0, 1


@dataclass(frozen=True, slots=True)
class Origin:
    """First names and family names as people of this origin write them in Latin letters."""

    given: tuple[str, ...]
    family: tuple[str, ...]
    is_family_first: bool = False

    def draw_name(self, side: int, rng: random.Random) -> tuple[str, str, str]:
        """Return full, first and family name of a side; where the family name may come first, it does so half of the time."""
        given, family = (rng.choice(select_side(words, side)) for words in (self.given, self.family))
        is_reversed = self.is_family_first and rng.random() < 0.5
        return f"{family} {given}" if is_reversed else f"{given} {family}", given, family


def select_side(words: Sequence[str], side: int) -> list[str]:
    """Return the words of a side: TRAINED or HELD_OUT."""
    return [word for word in words if zlib.crc32(word.lower().encode()) % 2 == side]


def _split(words: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in words.split())


ORIGINS: dict[str, Origin] = {
    "English": Origin(
        _split("James Mary Robert Patricia Michael Jennifer William Linda David Elizabeth Richard Barbara Thomas Susan Charles Jessica "
               "Matthew Sarah Anthony Karen Daniel Nancy Mark Lisa Paul Betty Steven Margaret Andrew Sandra Joshua Ashley Kenneth "
               "Kimberly Kevin Emily Brian Donna George Michelle Oliver Harriet"),
        _split("Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Moore Jackson Martin Thompson White Harris Clark "
               "Lewis Robinson Walker Young Allen King Wright Scott Hill Green Adams Baker Nelson Carter Mitchell Roberts Turner "
               "Phillips Campbell Parker Evans Edwards Collins Bennett Fletcher"),
    ),
    "Spanish and Portuguese": Origin(
        _split("José María Juan Guadalupe Luis Carmen Carlos Ana Jorge Rosa Javier Lucía Miguel Sofía Alejandro Valentina Diego Camila "
               "Rafael Isabela Fernando Gabriela Ricardo Beatriz Thiago Larissa João Luiza Mateus Juliana Rodrigo Ximena Joaquín "
               "Paloma Ignacio Pilar Emilio Consuelo Vinícius Thaís"),
        _split("García Rodríguez Martínez Hernández López González Pérez Sánchez Ramírez Torres Flores Rivera Gómez Díaz Cruz Morales "
               "Reyes Gutiérrez Ortiz Castillo Silva Santos Oliveira Souza Pereira Ferreira Almeida Carvalho Ribeiro Cardoso Vásquez "
               "Mendoza Quispe Mamani Huamán Cavalcanti Figueiredo Nascimento Echeverría Zúñiga"),
    ),
    "Slavic": Origin(
        _split("Aleksandr Anastasia Dmitri Ekaterina Sergei Olga Andrei Natalia Mikhail Svetlana Ivan Tatiana Piotr Agnieszka Krzysztof "
               "Katarzyna Tomasz Małgorzata Oleksandr Oksana Volodymyr Yuliia Milan Jelena Dragan Snežana Bohdan Zdeněk Jiří Lenka "
               "Zoran Marija Stanislav Ludmila Wojciech Zofia Taras Halyna Bogdan Radmila"),
        _split("Ivanov Smirnova Kuznetsov Popova Vasiliev Petrov Sokolov Mikhailov Novikova Fedorov Nowak Kowalski Wiśniewska Wójcik "
               "Kowalczyk Zieliński Szymański Woźniak Shevchenko Kovalenko Bondarenko Tkachenko Kravchenko Oliynyk Jovanović Petrović "
               "Nikolić Marković Đorđević Horvat Novák Svoboda Dvořák Černý Dimitrov Georgiev Ivanova Todorov Lewandowska Polishchuk"),
    ),
    "Turkish": Origin(
        _split("Mehmet Fatma Mustafa Ayşe Ahmet Emine Hüseyin Hatice Murat Zeynep Emre Elif Burak Merve Serkan Özlem Volkan Derya Kemal "
               "Esra Cem Gülşen Hakan Sibel Onur Pınar Tolga Büşra Yusuf Şeyma Orhan Nurcan Barış Aslı Ufuk Gökhan Sevgi Tülay "
               "İbrahim Ceren"),
        _split("Yılmaz Kaya Demir Şahin Çelik Yıldız Yıldırım Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt Özkan "
               "Şimşek Polat Korkmaz Erdoğan Karaca Aksoy Güneş Bozkurt Taş Türkmen Acar Keskin Ünal Güler Yavuz Sarı Tekin Ateş "
               "Bulut Ergin Kaplan"),
    ),
    "Arabic": Origin(
        _split("Mohammed Fatima Ahmed Aisha Ali Maryam Omar Khadija Hassan Zainab Khalid Layla Yousef Noor Ibrahim Huda Abdullah Salma "
               "Tariq Rania Mahmoud Amina Karim Yasmin Bilal Nadia Hamza Samira Faisal Dalia Walid Hanan Mustafa Iman Rashid Reem "
               "Nasser Lubna Ziad Ghada"),
        _split("Al-Rashid Hassan Al-Farsi Haddad Khoury Mansour Al-Sayed Nasser Saleh Abdelrahman El-Masry Al-Harbi Qasim Al-Ghamdi "
               "Darwish Hamdan Jaber Al-Zahrani Khalil Boutros Sabbagh Shami Al-Mutairi Najjar Bakri Tantawi Al-Otaibi Fakhoury "
               "Zidan Al-Hashimi Benali Bouazizi El-Amrani Chaoui Mokhtar Farouk Sharif Al-Dosari Habib Awad"),
    ),
    "Persian": Origin(
        _split("Reza Maryam Hossein Zahra Mehdi Fatemeh Amir Sara Saeed Leila Hamid Narges Behrouz Shirin Dariush Parisa Kourosh Nasrin "
               "Farhad Mahsa Arash Nazanin Babak Azadeh Omid Setareh Kamran Niloofar Siamak Golnaz Mohsen Elham Pouya Samaneh Vahid "
               "Roya Jamshid Firouzeh Ehsan Mojgan"),
        _split("Hosseini Ahmadi Mohammadi Karimi Rahimi Rezaei Moradi Jafari Ebrahimi Kazemi Sadeghi Rostami Tehrani Shirazi Esfahani "
               "Farahani Bahrami Ghorbani Heidari Mousavi Najafi Nazari Norouzi Rashidi Salehi Shahbazi Soltani Tavakoli Yazdani Zandi "
               "Khosravi Amini Daneshvar Ghasemi Hashemi Jalali Kermani Mirzaei Parsa Safavi"),
    ),
    "South Asian": Origin(
        _split("Rajesh Priya Amit Anjali Suresh Lakshmi Vijay Deepika Sanjay Kavita Arjun Pooja Rahul Sunita Vikram Meena Anil Divya "
               "Ramesh Shreya Harpreet Gurpreet Farhan Ayesha Imran Nasreen Tanvir Shabnam Kumar Revathi Murugan Nirmala Dilshan "
               "Chamari Aarav Ishita Manoj Rukmini Karthik Padma"),
        _split("Sharma Patel Singh Kumar Gupta Reddy Nair Iyer Mehta Joshi Desai Chatterjee Banerjee Mukherjee Das Rao Verma Agarwal "
               "Choudhury Khan Ahmed Hussain Malik Qureshi Siddiqui Rahman Chowdhury Perera Fernando Jayawardena Wickramasinghe "
               "Subramanian Venkatesan Krishnamurthy Pillai Bhattacharya Kulkarni Deshmukh Thapa Shrestha"),
    ),
    "Chinese": Origin(
        _split("Wei Xiaoming Jing Li Fang Jun Min Yan Ming Hui Xin Lei Ying Qiang Na Bo Jie Tao Chao Yu Ping Hao Mei Xia Guang Zhen "
               "Yuxuan Zihan Haoran Xinyi Jiahui Shuang Wenjing Guoqiang Jianguo Xiuying Yifan Siyu Zhiyuan Meiling Chunhua Dawei "
               "Ruoxi Tianyu Lihua Xuefeng"),
        _split("Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Gao Lin Luo Zheng Liang Xie Song Tang Xiao Feng "
               "Deng Cao Peng Zeng Xiao Tian Dong Yuan Pan Jiang Cai Yu Du Ye Cheng Su Wei Lü Ding Ren Shen Yao Lu Ouyang Zhong Qian "
               "Tan Kong Qin Hou Meng Xiong"),
        is_family_first=True,
    ),
    "Japanese": Origin(
        _split("Hiroshi Yuki Takashi Sakura Kenji Yoko Satoshi Haruka Daisuke Aiko Kazuki Misaki Ryo Ayumi Shota Naomi Takeshi Keiko "
               "Haruto Yui Sota Hina Makoto Emiko Tetsuya Chiyo Noboru Kaori Akihiro Megumi Masaru Tomoko Shinji Rie Yusuke Mariko "
               "Isamu Fumiko Jiro Natsuki"),
        _split("Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Yamaguchi Matsumoto "
               "Inoue Kimura Hayashi Shimizu Yamazaki Mori Abe Ikeda Hashimoto Ishikawa Ogawa Okada Hasegawa Fujita Goto Kondo Murakami "
               "Nishimura Fukuda Miura Takeuchi Nakajima Harada Ueda Sugiyama"),
    ),
    "Korean": Origin(
        _split("Min-jun Seo-yeon Ji-hoon Ji-woo Hyun-woo Soo-jin Sung-min Eun-ji Dong-hyun Hye-jin Jae-won Yoo-jin Tae-hyung Mi-kyung "
               "Young-ho Sun-hee Joon-ho Ha-eun Kyung-soo Bo-ra Seung-hwan Na-young Minho Jiyeon Seojun Haeun Jihye Yuna Sangwoo Dahyun "
               "Chul-soo Mi-sook In-ho Ye-rin Woo-sung Jin-ah Byung-hun Soo-ah Hyejin Taeyang"),
        _split("Kim Lee Park Choi Jung Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang Ahn Song Yoo Hong Jeon Ko Moon Yang Bae Baek Heo "
               "Nam Noh Ha Jeong Gwak Sung Cha Joo Woo Min Ryu Chae Bang"),
        is_family_first=True,
    ),
    "Vietnamese": Origin(
        _split("Minh Linh Tuan Huong Hung Lan Dung Thuy Nam Mai Quang Ngoc Thanh Hoa Duc Trang Long Phuong Hai Yen Khanh Nhung Bao Thao "
               "Cuong Hanh Tien Giang Vinh Diep Son Uyen Phuc Chau Trung Ly Thinh Hien Khoa My Van_Anh Thi_Lan Van_Hung Thi_Mai "
               "Quoc_Bao Ngoc_Anh"),
        _split("Nguyen Tran Le Pham Hoang Phan Vu Vo Dang Bui Do Ho Ngo Duong Ly Dinh Truong Trinh Mai Doan Lam Cao Luong Phung Chau Ta "
               "Thach Kieu Quach Nghiem Huynh Dao Luu Tang Ha Nguyễn Trần Phạm Đặng Đỗ"),
        is_family_first=True,
    ),
    "West African": Origin(
        _split("Chinedu Ngozi Emeka Chioma Olumide Folake Tunde Yetunde Kwame Ama Kofi Abena Kwabena Efua Ibrahim Aminata Mamadou Fatou "
               "Ousmane Awa Babacar Ndeye Sekou Mariama Uche Adaeze Obinna Ifeoma Segun Bukola Yaw Akosua Kwesi Adwoa Musa Hauwa Abubakar "
               "Zainab Chukwuemeka Nneka Oluwaseun Titilayo Moussa Kadiatou"),
        _split("Okonkwo Adeyemi Okafor Mensah Owusu Diallo Traoré Keita Ndiaye Diop Sow Ba Coulibaly Ouedraogo Kone Toure Eze Nwosu Obi "
               "Adebayo Ogunleye Balogun Afolabi Oyelaran Asante Boateng Osei Appiah Agyeman Amoah Bello Abdullahi Danjuma Camara Cissé "
               "Sesay Kamara Koroma Nwachukwu Chukwu Igwe Onyekachi Akinola Amadi Sarr Fofana"),
    ),
    "East and Southern African": Origin(
        _split("Wanjiru Kamau Otieno Achieng Mwangi Njeri Kipchoge Chebet Juma Neema Baraka Asha Tesfaye Hiwot Abebe Selam Dawit Tigist "
               "Mulugeta Aster Thabo Nomsa Sipho Lindiwe Themba Zanele Bongani Nokuthula Tendai Rudo Tatenda Chipo Mugisha Nakato "
               "Okello Akello Habimana Uwase Farai Busisiwe Abdi Hodan Lungile Mandla"),
        _split("Odhiambo Wambui Kariuki Njoroge Kimani Ochieng Wekesa Cheruiyot Mutua Ndungu Mkapa Mwinyi Bekele Haile Gebre Tadesse "
               "Alemayehu Girma Wolde Dlamini Nkosi Ndlovu Khumalo Mokoena Zulu Sithole Moyo Chikwanha Mutasa Banda Phiri Mwale Museveni "
               "Ssempijja Byaruhanga Niyonzima Uwimana Hakizimana Mabuza Mthembu Radebe Warsame Farah Abdirahman"),
    ),
    "Indonesian and Malay": Origin(
        _split("Budi Siti Agus Dewi Joko Sri Andi Ratna Bambang Wulan Eko Ayu Hendra Indah Rizki Putri Wahyu Nurul Dimas Lestari Slamet "
               "Yanti Ahmad Nur_Aini Azman Siti_Aminah Faizal Aisyah Rosnah Hafiz Zulkifli Norhayati Irwan Fitri Arief Mega Teguh "
               "Kartika Made Ketut Wayan Nyoman"),
        _split("Santoso Wijaya Susanto Setiawan Hidayat Kusuma Pratama Nugroho Wibowo Saputra Purnomo Hartono Suryadi Gunawan Lestari "
               "Rahayu Siregar Nasution Simanjuntak Situmorang Panjaitan Harahap Lubis Sitorus Abdullah Ismail Othman Yusof Rahim "
               "bin_Hassan binti_Ahmad Sulaiman Mohamad Sukarno Widodo Permana Ramadhan Utami Handayani Firmansyah"),
    ),
    "Filipino and Pacific": Origin(
        _split("Maricel Rommel Jovelyn Arnel Rowena Dindo Analyn Reynaldo Marites Jomar Liezl Benigno Ligaya Bayani Tala Luzviminda Sione "
               "Mele Tevita Losa Ioane Sina Tama Malia Keoni Leilani Kaimana Moana Hemi Aroha Wiremu Ngaire Tane Marama Viliame Salote "
               "Semisi Lupe Fetu Tavita"),
        _split("Dela_Cruz Bautista Villanueva Macaraeg Dimaculangan Pangilinan Magsaysay Batungbakal Catacutan Manalo Dumlao Lacson "
               "Tuilagi Faleolo Leota Tauiliili Fonua Tupou Taufa Vunipola Kealoha Kahale Kekoa Nakamura-Kealoha Ngata Parata Paewai "
               "Tamihere Waititi Rangihuna Naivalu Ravuvu Seruiratu Ma'afu Faumuina Leavai Tuimavave Alofa Panganiban Mangubat"),
    ),
    "Hebrew": Origin(
        _split("Yosef Miriam Moshe Rivka Avraham Tamar Yaakov Shira Eitan Noa Itai Maya Omer Yael Gilad Hadas Amos Orly Uri Ayelet Boaz "
               "Dafna Nadav Efrat Shlomo Chana Elad Inbal Ronen Keren Yoav Michal Doron Sigal Ehud Nurit Tzvi Liat Asaf Zohar"),
        _split("Cohen Levi Mizrahi Peretz Biton Dahan Avraham Friedman Malka Azoulay Katz Yosef Amar Ohayon Hadad Gabay Ben-David Adler "
               "Levin Shapira Segal Golan Ben-Ami Barak Rosenberg Weizman Eshkol Sharabi Tzur Harel Navon Shalev Almog Regev Yaari "
               "Ashkenazi Zilberman Oren Haim Bar-Lev"),
    ),
}  # fmt: skip

NO_NAMES: dict[str, tuple[str, ...]] = {
    "place": _split(
        "Chongqing Ouagadougou Antananarivo Guangzhou Nairobi Kathmandu Tashkent Ulaanbaatar Bamako Accra Lagos Kinshasa Hyderabad Lahore "
        "Isfahan Ankara Izmir Tbilisi Yerevan Busan Incheon Osaka Kyoto Sapporo Hanoi Danang Jakarta Surabaya Manila Cebu Suva Apia Tonga "
        "Samoa Warsaw Kraków Kyiv Lviv Zagreb Belgrade Haifa Amman Muscat Doha Casablanca Marrakech Oaxaca Guadalajara Recife Curitiba "
        "Fukuoka Shenzhen Chengdu Kumasi Abuja Mombasa Harare Lusaka Pretoria Colombo Dhaka Karachi Bengaluru Shiraz Sidon"
    ),
    "dish": _split(
        "Jollof Injera Kimchi Bibimbap Ramen Okonomiyaki Pho Banh_Mi Nasi_Goreng Rendang Adobo Biryani Dosa Hummus Falafel Shakshuka "
        "Pierogi Borscht Ceviche Feijoada Fufu Egusi Ugali Lahmacun Baklava Mole Dim_Sum Mapo_Tofu Tteokbokki Satay Laksa Ghormeh_Sabzi "
        "Tagine Couscous Chapati Poutine Goulash Sushi Udon Wonton Gado-Gado Sambal Sinigang Pancit Lumpia Kare-Kare Nasi_Lemak Bulgogi "
        "Japchae Galbi Tempura Sashimi Teriyaki Congee Baozi Char_Siu Bun_Cha Goi_Cuon Paneer Samosa Naan Korma Tandoori Idli Kebab "
        "Tabbouleh Fattoush Koshari Mansaf Waakye Suya Moi_Moi Thieboudienne Mafé Matoke Sadza Bobotie Doro_Wat Empanada Arepa Tamale "
        "Pozole Acarajé Moqueca Paella Gazpacho Bigos Sarma Ćevapi Pljeskavica Solyanka Pelmeni"
    ),
    "firm": _split(
        "Xiaomi Alibaba Tencent Huawei Toyota Mitsubishi Panasonic Samsung Hyundai Kakao Infosys Wipro Tata_Steel Zomato Safaricom "
        "Dangote_Cement Petrobras Embraer Grupo_Bimbo Cemex Gazprom Yandex Allegro Turkcell Arçelik Aramco Emirates Garuda Petronas "
        "Grab Jollibee Vingroup Foxconn Lenovo Nintendo Kubota Naver Flipkart Etisalat Sberbank Reliance_Industries Mahindra_Group "
        "Bharti_Airtel Bajaj_Auto Baidu Meituan Sinopec Haier Geely Komatsu Hitachi Fujitsu Daikin Shiseido Celltrion Lotte_Group "
        "Zenith_Bank Access_Bank Ecobank Kenya_Airways Equity_Bank Shoprite Naspers Vodacom Bank_Mandiri Gojek Tokopedia San_Miguel "
        "Ayala_Group Teva Wix Elbit Koç_Holding Vestel Turkish_Airlines Saudia Qatar_Airways Almarai Cemig Natura Falabella Avianca "
        "Orlen Lukoil Rosneft Podravka Škoda_Auto Viettel Vinamilk"
    ),
    "language": _split(
        "Mandarin Cantonese Yoruba Igbo Hausa Swahili Amharic Zulu Xhosa Tagalog Malay Javanese Vietnamese Korean Japanese Hindi Tamil "
        "Telugu Urdu Farsi Arabic Hebrew Turkish Polish Ukrainian Serbian Croatian Samoan Tongan Hawaiian Quechua Guaraní"
    ),
    "feast": _split(
        "Ramadan Eid Diwali Holi Nowruz Tet Lunar_New_Year Hanukkah Passover Vesak Songkran Chuseok Obon Kwanzaa Timkat Purim Navratri "
        "Shabbat Ashura Semana_Santa Carnaval Onam Pongal Durga_Puja Raksha_Bandhan Ganesh_Chaturthi "
        "Mid-Autumn_Festival Qingming Golden_Week Hanami Seollal Galungan Nyepi Meskel Enkutatash Odunde Yam_Festival Sukkot Shavuot "
        "Rosh_Hashanah Yom_Kippur Arbaeen Mawlid Maslenitsa Juhannus Inti_Raymi Día_de_Muertos Sinulog Matariki"
    ),
    "thing": _split(
        "Kubernetes Terraform Postgres Kafka Redis Android Windows Ubuntu Excel Photoshop Bluetooth Ethernet Invoice Warehouse Dashboard "
        "Premium Standard Basic Pro Enterprise Billing Support Marketing Logistics Compliance Engineering Finance Legal Monday Tuesday "
        "Saturday January August October North South Section Appendix Table Figure Chapter Model Version Release"
    ),
}  # fmt: skip

# {full}, {given} and {family} are of one person, {other} is another.
NAMED_FRAMES = (
    "My name is {full}.", "I am {full} from the sales team.", "This is {given} speaking.", "{full} lives in Berlin.", "{given} lives nearby.",
    "Please call {full} tomorrow morning.", "Contact {full} for details.", "Send the report to {full} by noon.", "Ask {given} about the key.",
    "{full} said that the meeting was cancelled.", "{given} asked whether the order had arrived.", "{full} wrote the first draft.",
    "Dr. {family} will see you now.", "Mr. {family} signed the lease.", "Mrs. {family} has two children.", "Professor {family} teaches physics.",
    "Ms. {full} is the new director.", "Dear {full},\n\nThank you for your letter.", "Dear {given},\nyour parcel is on its way.", "Hi {given}, how are you?",
    "Best regards,\n{full}", "Thanks, {given}", "Sincerely,\n{full}\nHead of Sales", "Name: {full}", "Customer: {full}\nStatus: open", "- {full}\n- {other}",
    "The manager, {full}, approved the request.", "The lawsuit was filed by {full} in 2019.", "We interviewed {full} and {other} last week.",
    "{full} and {other} founded the company.", "{full}, {other} and a third person were present.", "It was {given} who found the error.",
    "The book by {full} sold well.", "{full}'s father was a farmer.", "{given}'s phone is broken.", "I met {full} at a conference.", "He married {full} in 1998.",
    "The ticket was assigned to {full}.", "The account belongs to {full}.", "The suspect was identified as {full}, 34.", "Our neighbour {given} has a dog.",
    "My sister {given} studies law.", "Her husband {full} works as a nurse.", "Captain {family} led the team.", "The patient {full} was admitted on Monday.",
    "Employee {full} joined in March.", "Interview with {full}: how it began", "{full} (born 1972) is a painter.", "Yesterday {full} scored twice.",
    "The prize went to {full} of Canada.", "Attached is the CV of {full}.", "Approved by: {full}", "From: {full}\nTo: {other}\nSubject: hello",
    "Passenger {full} has seat 12A.", "According to {full}, prices will rise.", "\"We are ready,\" said {full}.", "\"I saw it,\" {given} replied.",
    "I talked with {given} and {other}.", "Could you book a room for {full}?", "{given} is my best friend.", "The teacher thanked {given} for the help.",
    "As {family} (2018) has shown, it works.", "Ms {family} called twice.", "{full} is responsible for the budget.", "Their son {given} is nine years old.",
    "The doctor examined {full} and found nothing.", "1. {full}: 12 points", "| {full} | 42 | yes |", "hello {given}, it's me", "Happy birthday, {given}!",
)  # fmt: skip
NAMELESS_FRAMES: dict[str, tuple[str, ...]] = {
    "place": (
        "The flight to {} was late.", "{} is a large city.", "We moved from {} to Berlin.", "The office in {} is closed.", "{} has two million people.",
        "It rains a lot in {}.", "The road between {} and the coast is new.", "Our team in {} will answer.", "{} exports coffee.", "Best hotels in {}",
        "The train left {} at noon.", "{}, a city of trade, has a port.", "In {}, shops open late.", "The museum of {} is free.", "{}'s airport is modern.",
    ),
    "dish": (
        "I ordered {} with rice.", "{} is a popular dish.", "The recipe for {} needs salt.", "They serve {} and tea.", "Try {} with lemon.", "Homemade {} tastes best.",
        "{} is made of flour.", "Ingredients for {}: oil, onions, garlic.", "She cooked {} for dinner.", "The best {} in town",
    ),
    "firm": (
        "{} announced new products.", "Shares of {} fell by two percent.", "{} said that sales rose.", "She works at {}.", "The new phone by {} is cheap.", "{} and its rivals grow.",
        "The contract with {} ends in May.", "According to {}, profits rose.", "{}'s revenue doubled.", "{} was founded in 1987.", "Contact {} for a refund.",
    ),
    "language": (
        "She speaks {} and English.", "The text was translated into {}.", "{} is a tonal language.", "A course in {} starts soon.", "{} has many speakers.", "He learned {} at school.",
        "The {} alphabet is old.", "Is {} hard to learn?", "The page is available in {}.",
    ),
    "feast": (
        "Shops close during {}.", "{} is celebrated in spring.", "Families meet for {}.", "Happy {}!", "The week before {} is busy.", "{} begins at sunset.", "{} falls on a Sunday.",
        "We travel home for {}.",
    ),
    "thing": (
        "Please contact {} for details.", "Open {} and click the button.", "The {} team will answer.", "{} is required.", "{} said no.", "See {} for more.", "Dear {} team,", "{}: open",
        "{}'s settings were changed.", "We met on {} to talk.", "The {} page is empty.", "I use {} every day.", "Thanks, {}", "Ask {} about it.", "Update {} before you begin.",
        "Name: {}", "- {}", "Regards,\nThe {} Team", "{} and {} are needed.",
    ),
}  # fmt: skip


def swap_names(text: str, names: Sequence[Span], rng: random.Random) -> tuple[str, tuple[Span, ...]]:
    """Return a text with other people in it, all of one origin, and where they stand; case and length are kept."""
    origin, parts, spans, last = rng.choice(list(ORIGINS.values())), [], list[Span](), 0
    for start, end in sorted(names):
        if start >= last:
            parts += [text[last:start], _name_like(text[start:end], origin, rng)]
            begin = sum(map(len, parts[:-1]))
            spans.append((begin, begin + len(parts[-1])))
            last = end
    return "".join([*parts, text[last:]]), tuple(spans)


def build_examples(
    rng: random.Random, n_named: int = 1, n_nameless: int = 12
) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield texts for training with the places of names: each frame with names of each origin, and without any."""
    for origin in ORIGINS.values():
        for frame in NAMED_FRAMES * n_named:
            yield fill_frame(frame, origin, TRAINED, rng)
    for kind, frames in NAMELESS_FRAMES.items():
        words = select_side(NO_NAMES[kind], TRAINED)
        for frame in frames * n_nameless:
            yield frame.format(*rng.choices(words, k=frame.count("{}"))), ()


def fill_frame(frame: str, origin: Origin, side: int, rng: random.Random) -> tuple[str, tuple[Span, ...]]:
    """Return a frame with the names of two people in it, and where they stand."""
    full, given, family = origin.draw_name(side, rng)
    names = {"full": full, "given": given, "family": family, "other": origin.draw_name(side, rng)[0]}
    text, spans = "", list[Span]()
    for before, key, _, _ in string.Formatter().parse(frame):
        text += before
        if key:
            spans.append((len(text), len(text) + len(names[key])))
            text += names[key]
    return text, tuple(spans)


def _name_like(written: str, origin: Origin, rng: random.Random) -> str:
    full, given, family = origin.draw_name(TRAINED, rng)
    name = full if " " in written else rng.choice((given, given, family))
    return name.lower() if written.islower() else name.upper() if written.isupper() and len(written) > 3 else name
